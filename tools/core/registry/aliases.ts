import { ToolError } from '../errors.ts';
import type { Tool } from './tool.ts';

/** The input with the members under their own names that came under names which similar tools use. @throws ToolError if both came */
export function withoutAliases({ aliases }: Pick<Tool, 'aliases'>, given: unknown): unknown {
  if (!aliases || !isObject(given)) return given;
  const used = Object.keys(aliases).filter((alias) => Object.hasOwn(given, alias));
  if (used.length === 0) return given;
  const named: Record<string, unknown> = { ...given };
  for (const alias of used) {
    const name = aliases[alias] ?? alias;
    if (Object.hasOwn(given, name)) throw twice(alias, name);
    named[name] = named[alias];
    delete named[alias];
  }
  return named;
}

function twice(alias: string, name: string): ToolError {
  const message = `Is another name of "${name}"; give one of them.`;
  return new ToolError('invalid_input', `Invalid input: ${alias}: ${message}`, { issues: [{ path: alias, message }] });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
