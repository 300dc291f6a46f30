import type { Issue } from '../../../resources/error.ts';
import { requireNoIssues } from '../errors.ts';
import { type Grant, type GrantNames, parseGrant, unknownName } from './grants.ts';
import type { Access, GuardedCatalog } from './guarded-tool.ts';
import { COARSE_SCOPES, GUEST_GRANT, GUEST_SCOPES } from './scopes.ts';
import { nearest } from './similar-names.ts';

/** The scopes that a key may have: the coarse ones, and those that some tool requires. Only sessions have `*`. */
function assignableScopes(catalog: GuardedCatalog): string[] {
  const required = accessesOf(catalog).map(({ scope }) => scope);
  return [...new Set([...COARSE_SCOPES, ...Object.values(GUEST_SCOPES), ...required.filter(Boolean)])];
}

/** Required by tools of integrations, and where an app asks to act for a capsule. */
const BESIDE_CATALOG = [GUEST_GRANT, 'capsule:use'];

/** The resources and operations that a grant may name: those that open some tool. */
export function grantNames(catalog: GuardedCatalog): GrantNames {
  const names = new Map<string, Set<string>>();
  const required = accessesOf(catalog).flatMap(({ grant, fullAccess }) => (fullAccess ? [] : grant));
  for (const grant of [...required, ...BESIDE_CATALOG]) {
    const [resource = '', op = ''] = grant.split(':');
    names.set(resource, (names.get(resource) ?? new Set()).add(op));
  }
  return names;
}

/** The scopes that would open all that the grant opens: those of every tool that asks for it, alone or among others. */
export function scopesFor({ resource, op }: Grant, catalog: GuardedCatalog): readonly string[] {
  const isMeant = (text: string) => {
    const [ofTool, opOfTool] = text.split(':');
    return (resource === '*' || resource === ofTool) && (op === '*' || op === opOfTool);
  };
  const required = accessesOf(catalog).filter(({ grant }) => [grant].flat().some(isMeant));
  const beside = BESIDE_CATALOG.some(isMeant) ? ['admin'] : [];
  return [...new Set([...required.map(({ scope }) => scope), ...beside])];
}

function accessesOf(catalog: GuardedCatalog): readonly Access[] {
  return catalog.entries.flatMap(({ tool: { access } }) => ('among' in access ? access.among : [access]));
}

interface RightsInput {
  readonly scopes: readonly string[];
  readonly grants?: readonly string[] | undefined;
}

/** The parsed grants of the input member `path`. @throws ToolError that names every scope and grant that nobody can be given */
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
  requireNoIssues(issues);
  return grants;
}

function unknownScope(scope: string, assignable: readonly string[]): string {
  if (scope === '*') return '"*" is for sessions alone; give admin for full access.';
  const close = nearest(scope, assignable, 3);
  return `There is no scope of this name; ${close.length > 0 ? `did you mean ${close.join(' or ')}` : `allowed: ${assignable.join(', ')}`}.`;
}
