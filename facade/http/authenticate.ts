import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiKeyRecord } from '../../resources/api-key.ts';
import type { Store } from '../../store/port.ts';
import { findToken, type ShownToken, tokenHolder } from '../../tools/access/capsule-principal.ts';
import { createUseNotes, findKey, keyHolder } from '../../tools/access/key-principal.ts';
import type { Principal } from '../../tools/access/principal.ts';
import { endedCredential } from '../../tools/access/standing.ts';
import type { Catalog } from '../../tools/registry/catalog-index.ts';
import { type ErrorDetail, ToolError } from '../../tools/registry/errors.ts';
import { authenticateSession } from '../../tools/sign-in/open-sessions.ts';
import type { SessionCookies } from './session-cookie.ts';

const BEARER = /^bearer +(\S+) *$/i;

export interface Authenticator {
  /** @throws ToolError (unauthenticated) */
  authenticate(request: IncomingMessage): Promise<Principal>;
  /** Who the same request would stand for now; undefined where it would not be let in any more. */
  renew(request: IncomingMessage): Promise<Principal | undefined>;
  /** Why the credential of the principal is not accepted any more. */
  problem(principal: Principal): Promise<ToolError>;
}

export interface AuthenticatorOptions {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly cookies: SessionCookies;
  onFailure(cause: unknown): void;
  now(): Date;
}

export function createAuthenticator({
  store,
  catalog,
  cookies,
  onFailure,
  now: time,
}: AuthenticatorOptions): Authenticator {
  const noteUse = createUseNotes(store, onFailure);
  const shown = new ShownSecrets(store);

  /** Who sends a bearer token means it: a bad one is not made up for by a cookie. */
  async function find(request: IncomingMessage): Promise<Principal | undefined> {
    const { authorization = '' } = request.headers;
    if (/^bearer\b/i.test(authorization)) {
      const found = await shown.find(request.socket, authorization);
      const now = time();
      return found && ('key' in found ? keyHolder(store, found.key, now) : tokenHolder(found, catalog, now));
    }
    const session = cookies.read(request);
    return session === undefined ? undefined : authenticateSession(store, session, time());
  }

  return {
    async authenticate(request) {
      const principal = await find(request);
      if (!principal) throw new ToolError('unauthenticated', 'Authentication required', challengeOf(request));
      if (principal.type !== 'capsule') noteUse(principal, time());
      return principal;
    },
    renew: find,
    problem: (principal) => endedCredential(principal, store, { catalog, now: time() }),
  };
}

type Secret = { readonly key: ApiKeyRecord } | ShownToken;

/**
 * The secrets that connections have shown. A connection that shows the same one again, whose record is the very same, needs no hash;
 * whether the secret is still good is asked each time.
 */
class ShownSecrets {
  readonly #store: Store;
  readonly #known = new WeakMap<Socket, { readonly authorization: string; readonly found: Secret }>();

  constructor(store: Store) {
    this.#store = store;
  }

  async find(socket: Socket, authorization: string): Promise<Secret | undefined> {
    const known = this.#known.get(socket);
    if (known?.authorization === authorization && (await this.#isSame(known.found))) return known.found;
    const found = await this.#look(authorization);
    if (found) this.#known.set(socket, { authorization, found });
    return found;
  }

  async #look(authorization: string): Promise<Secret | undefined> {
    const secret = BEARER.exec(authorization)?.[1];
    if (secret === undefined) return undefined;
    const key = await findKey(this.#store, secret);
    return key ? { key } : findToken(this.#store, secret);
  }

  async #isSame(found: Secret): Promise<boolean> {
    return 'key' in found
      ? (await this.#store.apiKeys.get(found.key.id)) === found.key
      : (await this.#store.capsules.get(found.capsule.id)) === found.capsule;
  }
}

/** RFC 6750, section 3.1: who gave no token is told no error. */
export function challengeOf({ headers }: IncomingMessage): Pick<ErrorDetail, 'invalidToken'> {
  return /^bearer\s+\S/i.test(headers.authorization ?? '') ? { invalidToken: true } : {};
}
