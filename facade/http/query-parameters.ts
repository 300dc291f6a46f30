import type { Issue } from '../../resources/error.ts';
import { ToolError } from '../../tools/core/errors.ts';

const MOST_NAMED = 100;

/** @throws ToolError (invalid_input) for query parameters with other names */
export function requireKnownParameters({ search, searchParams }: URL, known: readonly string[]): void {
  if (search === '') return;
  const unknown = [...new Set(searchParams.keys())].filter((name) => !known.includes(name)).slice(0, MOST_NAMED);
  if (unknown.length === 0) return;
  const allowed = known.length > 0 ? `allowed: ${known.join(', ')}` : 'none is allowed';
  const issues: Issue[] = unknown.map((path) => ({
    path,
    message: `There is no such query parameter here; ${allowed}.`,
  }));
  throw new ToolError('invalid_input', `${issues[0]?.path}: ${issues[0]?.message}`, { issues });
}
