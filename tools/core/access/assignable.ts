import type { Grant, GrantNames } from './grants.ts';
import type { Access, GuardedCatalog } from './guarded-tool.ts';
import { COARSE_SCOPES, GUEST_GRANT, GUEST_SCOPES } from './scopes.ts';

/** The scopes that a key may have: the coarse ones, and those that some tool requires. Only sessions have `*`. */
export function assignableScopes(catalog: GuardedCatalog): string[] {
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
