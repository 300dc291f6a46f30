import { concerns, decodedId, type Grant, grantAllows, type Need } from './grants.ts';
import type { GuardedTool } from './guarded-tool.ts';
import {
  admits,
  admitsNothing,
  intersectLimits,
  NO_RECORD,
  type RecordLimit,
  type RecordLimits,
} from './record-limit.ts';
import { type Scope, scopesSatisfy } from './scopes.ts';

/** What one access rule requires: a scope, or grants for all of the needs. */
export interface Requirement {
  readonly scope: Scope;
  readonly needs: readonly Need[];
  /** A grant for some records is enough, and the answer shows only those. */
  readonly narrows?: boolean | undefined;
  /** Only full access is enough. */
  readonly full?: boolean | undefined;
}

/** What a principal may do. Scopes and grants are judged only here, for every door. */
export interface Rights {
  /** Full access. The principal may give any right to others. */
  readonly isAdmin: boolean;
  /** Those of a person who is signed in. Whatever else they may do, they manage what is their own (see `own` of a tool). */
  readonly isPerson?: true;
  /** Equal for principals that may do the same, so that an answer made for one serves the other. */
  readonly fingerprint: string;
  /** Whether some call under the requirement could be allowed. A need that is open counts as met by any record. */
  mayTry(requirement: Requirement): boolean;
  allows(requirement: Requirement): boolean;
  /** The records that the principal is limited to for the operation. Undefined if it is not limited. */
  limitedTo(resource: string, op: string): RecordLimit | undefined;
  /** The part of these limits that comes from arguments fixed for other tools, whatever the grants and whichever tool is called. */
  readonly held: RecordLimits;
  /** The rights during a call of the tool. Its own fixed arguments replace the limits by those of other tools. */
  inCallOf(tool: GuardedTool): Rights;
}

/** Rights by scopes. They are never limited to single records. */
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

/** The same without everything that concerns these resources, whichever tool asks. */
export function scopeRightsWithout(scopes: readonly Scope[], resources: readonly string[]): Rights {
  const rights = scopeRights(scopes);
  const allows = (requirement: Requirement) =>
    !requirement.needs.some(({ resource }) => resources.includes(resource)) && rights.allows(requirement);
  return {
    ...rights,
    fingerprint: `${rights.fingerprint} without ${resources.join(' ')}`,
    mayTry: allows,
    allows,
    limitedTo: (resource) => (resources.includes(resource) ? NO_RECORD : undefined),
  };
}

/** The rights as those of a person who is signed in. */
export function personRights(rights: Rights): Rights {
  const person: Rights = {
    ...rights,
    isPerson: true,
    fingerprint: `person ${rights.fingerprint}`,
    inCallOf(tool) {
      const inCall = rights.inCallOf(tool);
      return inCall === rights ? person : personRights(inCall);
    },
  };
  return person;
}

/** What narrows grants, besides the ids in them. */
interface Narrowing {
  fingerprint(): string;
  readonly limits: RecordLimits;
  readonly held: RecordLimits;
  readonly inCallOf: Rights['inCallOf'];
}

/** Rights by grants alone, narrowed where `narrowing` is given. */
export function grantRights(grants: readonly Grant[], narrowing?: Narrowing): Rights {
  const everything = grants.some(({ resource, op, id }) => resource === '*' && op === '*' && id === '*');
  const unlimited = (need: Need) => grants.some((grant) => grant.id === '*' && concerns(grant, need));
  const limitOf = ({ resource, op }: Need) => narrowing?.limits(resource, op);
  const some = (need: Need) => {
    const limit = limitOf(need);
    return (!limit || !admitsNothing(limit)) && grants.some((grant) => concerns(grant, need));
  };
  const whole = (need: Need) => {
    const limit = limitOf(need);
    return (!limit || admits(limit, need)) && grants.some((grant) => grantAllows(grant, need));
  };
  let fingerprint: string | undefined;
  return {
    isAdmin: everything,
    get fingerprint() {
      fingerprint ??= `${fingerprintOf(grants)} ${narrowing?.fingerprint() ?? ''}`;
      return fingerprint;
    },
    mayTry: ({ needs, narrows, full }) =>
      (!full || everything) && needs.every((need) => (need.open || (narrows && !need.ids) ? some(need) : whole(need))),
    allows: ({ needs, narrows, full }) =>
      (!full || everything) && needs.every((need) => (narrows && !need.ids ? some(need) : whole(need))),
    limitedTo(resource, op) {
      const limit = narrowing?.limits(resource, op);
      if (unlimited({ resource, op })) return limit;
      const names = grants.filter((grant) => concerns(grant, { resource, op })).map(decodedId);
      return intersectLimits({ names }, limit);
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

/** The rights by grants of a caller that can begin threads: a key, or a person. */
export function callerRights(id: string, grants: readonly Grant[]): Rights {
  const onThreads = grants.some(({ resource }) => resource === 'thread' || resource === '*');
  const invokes = grants.some((grant) => concerns(grant, { resource: 'agent', op: 'invoke' }));
  return invokes && !onThreads ? withOwnThreads(id, grants) : grantRights(grants);
}

/** Who may invoke agents and has no grant for threads may read and continue the threads that it began, and no others. */
function withOwnThreads(id: string, grants: readonly Grant[]): Rights {
  const rightsTo = (...ops: readonly string[]): Rights =>
    grantRights([...grants, ...ops.map((op) => ({ resource: 'thread', op, id: '*' }))], {
      fingerprint: () => `threads of ${id}: ${ops}`,
      limits: (resource) => (resource === 'thread' ? { members: { createdBy: id } } : undefined),
      held: () => undefined,
      inCallOf: (tool) => (tool.continuesThreads ? talking : usual),
    });
  const [usual, talking] = [rightsTo('read'), rightsTo('read', 'write')];
  return usual;
}

/** The rights that are in both, with full access only where both have it. */
export function narrowRights(handed: Rights, own: Rights): Rights {
  return handed.isAdmin ? intersectRights(own, handed) : intersectRights(handed, own);
}

/** The rights that are in both. `outer` is acted for and decides which restricted threads are visible; `inner` is what the actor needs. */
export function intersectRights(outer: Rights, inner: Rights): Rights {
  return {
    isAdmin: outer.isAdmin,
    fingerprint: JSON.stringify([outer.fingerprint, inner.fingerprint]),
    mayTry: (requirement) => outer.mayTry(requirement) && inner.mayTry(requirement),
    allows: (requirement) => outer.allows(requirement) && inner.allows(requirement),
    limitedTo: (resource, op) => intersectLimits(outer.limitedTo(resource, op), inner.limitedTo(resource, op)),
    held: (resource, op) => intersectLimits(outer.held(resource, op), inner.held(resource, op)),
    inCallOf(tool) {
      const [first, second] = [outer.inCallOf(tool), inner.inCallOf(tool)];
      return first === outer && second === inner ? this : intersectRights(first, second);
    },
  };
}
