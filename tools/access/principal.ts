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
  /** Of a person who is signed in: the key that made the link the session began with, and with which it ends. */
  readonly madeWith?: KeyBehind;
  readonly rights: Rights;
  /** Where present, tools beyond it do not exist for the principal, whatever its rights. */
  readonly tools?: ToolLimit;
  /** The principal an agent or flow acts for, whose rights it has, narrowed. */
  readonly actsFor?: Principal;
  /** Of a flow: the flows whose runs led to this one, itself last. */
  readonly causes?: readonly string[];
  /** Of a flow: the run in which it acts. */
  readonly runId?: string;
  /** Of a flow: the try of a step of the run, the same when an interrupted one is made again. */
  readonly attempt?: string;
}

/** A key with which something else was made. */
export interface KeyBehind {
  readonly id: string;
  readonly expiresAt?: string | undefined;
}

/** Those a principal acts for, nearest first; empty for one that acts for itself. */
export function chainOf({ actsFor }: Principal): Principal[] {
  return actsFor ? [actsFor, ...chainOf(actsFor)] : [];
}

/** The key that stands behind a call: that of the caller or of whom it acts for, or the one whose link began the session. */
export function keyBehind(principal: Principal): KeyBehind | undefined {
  const { type, id, expiresAt, madeWith } = rootOf(principal);
  return type === 'api-key' ? { id, expiresAt } : madeWith;
}

/** When the credential behind a call ends for good. A session ends, but its person signs in again. */
export function endOf(principal: Principal): string | undefined {
  const { type, expiresAt, madeWith } = rootOf(principal);
  return type === 'session' ? madeWith?.expiresAt : expiresAt;
}

/** What ends for good when the credential behind the call does, be it by revocation: of what it makes, the key to end with. */
export function bondOf(principal: Principal): { readonly endsWith?: string } {
  const key = keyBehind(principal);
  return key?.expiresAt === undefined ? {} : { endsWith: key.id };
}

function rootOf(principal: Principal): Principal {
  return chainOf(principal).at(-1) ?? principal;
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
