import { concerns, decodedId, type Grant, grantAllows, type Need } from './grants.ts';
import { type Scope, scopesSatisfy } from './scopes.ts';

/** What one access rule asks for: a scope, or grants for all of the needs. */
export interface Requirement {
  readonly scope: Scope;
  readonly needs: readonly Need[];
  /** A grant for single records suffices; the answer is narrowed to them. */
  readonly narrows?: boolean;
}

/** What a principal may do. The only place where scopes and grants are judged, for every door. */
export interface Rights {
  /** Full access: assigns rights to others without bounds of its own. */
  readonly isAdmin: boolean;
  /** Equal for principals that may do the same, so that answers prepared for one serve the other. */
  readonly fingerprint: string;
  /** Whether some call under the requirement could be allowed: what a need that is open is about is not looked at. */
  mayTry(requirement: Requirement): boolean;
  allows(requirement: Requirement): boolean;
  /** The records the principal is limited to for the operation, or undefined where it is not limited. */
  limitedTo(resource: string, op: string): readonly string[] | undefined;
}

/** Rights by scopes: never limited to single records. */
export function scopeRights(scopes: readonly Scope[]): Rights {
  const allows = (requirement: Requirement) => scopesSatisfy(scopes, requirement.scope);
  return {
    isAdmin: allows({ scope: 'admin', needs: [] }),
    fingerprint: `scopes ${[...scopes].sort().join(' ')}`,
    mayTry: allows,
    allows,
    limitedTo: () => undefined,
  };
}

/** Rights by grants alone. */
export function grantRights(grants: readonly Grant[]): Rights {
  const everything = grants.some(({ resource, op, id }) => resource === '*' && op === '*' && id === '*');
  const unlimited = (need: Need) => grants.some((grant) => grant.id === '*' && concerns(grant, need));
  return {
    isAdmin: everything,
    fingerprint: `grants ${grants
      .map(({ resource, op, id }) => `${resource}:${op}:${id}`)
      .sort()
      .join(' ')}`,
    mayTry: ({ needs, narrows }) =>
      needs.every((need) => {
        const suffices = need.open || (narrows && !need.ids) ? concerns : grantAllows;
        return grants.some((grant) => suffices(grant, need));
      }),
    allows: ({ needs, narrows }) =>
      needs.every((need) =>
        narrows && !need.ids
          ? grants.some((grant) => concerns(grant, need))
          : grants.some((grant) => grantAllows(grant, need)),
      ),
    limitedTo(resource, op) {
      if (unlimited({ resource, op })) return undefined;
      return grants.filter((grant) => concerns(grant, { resource, op })).map(decodedId);
    },
  };
}

/**
 * What both may do: of one who acts for the outer and needs no more than the inner. Records that only some may see are still those that the
 * outer sees.
 */
export function bothRights(outer: Rights, inner: Rights): Rights {
  return {
    isAdmin: outer.isAdmin,
    fingerprint: JSON.stringify([outer.fingerprint, inner.fingerprint]),
    mayTry: (requirement) => outer.mayTry(requirement) && inner.mayTry(requirement),
    allows: (requirement) => outer.allows(requirement) && inner.allows(requirement),
    limitedTo(resource, op) {
      const [first, second] = [outer.limitedTo(resource, op), inner.limitedTo(resource, op)];
      return first && second ? first.filter((id) => second.includes(id)) : (first ?? second);
    },
  };
}
