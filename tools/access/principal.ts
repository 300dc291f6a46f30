import type { Author } from '../../resources/version.ts';
import type { Grant } from './grants.ts';
import type { Rights } from './rights.ts';
import type { ToolLimit } from './tool-limit.ts';

/** Who calls, as found by a door. Lives for one request. The id of a session is that of the admin user who is signed in. */
export interface Principal {
  readonly type: 'session' | 'api-key' | 'capsule' | 'agent' | 'flow' | 'anonymous';
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly grants?: readonly Grant[];
  /** Admin user on whose behalf the principal acts. */
  readonly ownerId: string;
  readonly expiresAt?: string;
  readonly rights: Rights;
  /** Where present, tools beyond it do not exist for the principal, whatever its rights. */
  readonly tools?: ToolLimit;
  /** The principal an agent or flow acts for, whose rights it has, narrowed. */
  readonly actsFor?: Principal;
  /** Of a flow: the flows whose runs led to this one, itself last. */
  readonly causes?: readonly string[];
  /** Of a flow: the run in which it acts. */
  readonly runId?: string;
}

/** Those a principal acts for, nearest first; empty for one that acts for itself. */
export function chainOf({ actsFor }: Principal): Principal[] {
  return actsFor ? [actsFor, ...chainOf(actsFor)] : [];
}

/** A person who is signed in. */
export interface SessionPrincipal extends Principal {
  readonly type: 'session';
  readonly sessionId: string;
  readonly expiresAt: string;
}

/** False for what acts for one. */
export function isSession(principal: Principal): principal is SessionPrincipal {
  return principal.type === 'session' && 'sessionId' in principal;
}

export function authorOf({ type, id, name }: Principal): Author {
  return { type, id, name };
}
