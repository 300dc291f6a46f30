import type { Tool } from '../registry/define-tool.ts';
import { concerns, decodedId, type Grant, grantAllows, type Need } from './grants.ts';
import { bothLimited, fits, isNothing, type Limit, type Limits } from './limit.ts';
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
  limitedTo(resource: string, op: string): Limit | undefined;
  /** The part of that which arguments fixed for other tools hold it to, whatever its grants and whichever tool it calls. */
  readonly held: Limits;
  /** The rights within a call of the tool: of what its own fixed arguments already bind, other tools take nothing away. */
  inCallOf(tool: Tool): Rights;
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
    held: () => undefined,
    inCallOf() {
      return this;
    },
  };
}

/** What narrows grants besides the ids in them. */
export interface Narrowing {
  fingerprint(): string;
  readonly limits: Limits;
  readonly held: Limits;
  readonly inCallOf: Rights['inCallOf'];
}

/** Rights by grants alone, as far as they are not narrowed. */
export function grantRights(grants: readonly Grant[], narrowing?: Narrowing): Rights {
  const everything = grants.some(({ resource, op, id }) => resource === '*' && op === '*' && id === '*');
  const unlimited = (need: Need) => grants.some((grant) => grant.id === '*' && concerns(grant, need));
  const limitOf = ({ resource, op }: Need) => narrowing?.limits(resource, op);
  const some = (need: Need) => {
    const limit = limitOf(need);
    return (!limit || !isNothing(limit)) && grants.some((grant) => concerns(grant, need));
  };
  const whole = (need: Need) => {
    const limit = limitOf(need);
    return (!limit || fits(limit, need)) && grants.some((grant) => grantAllows(grant, need));
  };
  let fingerprint: string | undefined;
  return {
    isAdmin: everything,
    get fingerprint() {
      fingerprint ??= `${fingerprintOf(grants)} ${narrowing?.fingerprint() ?? ''}`;
      return fingerprint;
    },
    mayTry: ({ needs, narrows }) =>
      needs.every((need) => (need.open || (narrows && !need.ids) ? some(need) : whole(need))),
    allows: ({ needs, narrows }) => needs.every((need) => (narrows && !need.ids ? some(need) : whole(need))),
    limitedTo(resource, op) {
      const limit = narrowing?.limits(resource, op);
      if (unlimited({ resource, op })) return limit;
      const names = grants.filter((grant) => concerns(grant, { resource, op })).map(decodedId);
      return bothLimited({ names }, limit);
    },
    held: narrowing?.held ?? (() => undefined),
    inCallOf(tool) {
      return narrowing?.inCallOf(tool) ?? this;
    },
  };
}

function fingerprintOf(grants: readonly Grant[]): string {
  const texts = grants.map(({ resource, op, id }) => `${resource}:${op}:${id}`);
  return `grants ${texts.sort().join(' ')}`;
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
    limitedTo: (resource, op) => bothLimited(outer.limitedTo(resource, op), inner.limitedTo(resource, op)),
    held: (resource, op) => bothLimited(outer.held(resource, op), inner.held(resource, op)),
    inCallOf(tool) {
      const [first, second] = [outer.inCallOf(tool), inner.inCallOf(tool)];
      return first === outer && second === inner ? this : bothRights(first, second);
    },
  };
}
