import type { Issue } from '../../../resources/error.ts';
import { ToolError } from '../errors.ts';
import { assignableScopes, grantNames } from './assignable.ts';
import { type Grant, parseGrant, unknownName } from './grants.ts';
import type { GuardedCatalog } from './guarded-tool.ts';
import { nearest } from './similar-names.ts';

interface RightsInput {
  readonly scopes: readonly string[];
  readonly grants?: readonly string[] | undefined;
}

/**
 * The parsed grants. `path` names the input member that holds the two lists, empty where they are the input's own.
 * @throws ToolError that names every scope and grant that nobody can be given.
 */
export function readRights({ scopes, grants: texts = [] }: RightsInput, catalog: GuardedCatalog, path = ''): Grant[] {
  const issues: Issue[] = [];
  const at = path === '' ? '' : `${path}.`;
  const [assignable, names] = [assignableScopes(catalog), grantNames(catalog)];
  for (const [index, scope] of scopes.entries()) {
    if (!assignable.includes(scope))
      issues.push({ path: `${at}scopes[${index}]`, message: unknownScope(scope, assignable) });
  }
  const grants: Grant[] = [];
  for (const [index, text] of texts.entries()) {
    const parsed = parseGrant(text);
    const message = parsed.ok ? unknownName(parsed.grant, names) : parsed.message;
    if (message !== undefined) issues.push({ path: `${at}grants[${index}]`, message });
    else if (parsed.ok) grants.push(parsed.grant);
  }
  if (scopes.length === 0 && texts.length === 0) {
    issues.push({ path: `${at}scopes`, message: 'Without scopes and grants it opens nothing; give at least one.' });
  }
  if (issues[0]) throw new ToolError('invalid_input', `${issues[0].path}: ${issues[0].message}`, { issues });
  return grants;
}

function unknownScope(scope: string, assignable: readonly string[]): string {
  if (scope === '*') return '"*" is for sessions alone; give admin for full access.';
  const close = nearest(scope, assignable, 3);
  return `There is no scope of this name; ${close.length > 0 ? `did you mean ${close.join(' or ')}` : `allowed: ${assignable.join(', ')}`}.`;
}
