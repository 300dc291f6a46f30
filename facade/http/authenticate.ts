import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiKeyRecord } from '../../resources/api-key.ts';
import type { Store } from '../../store/port.ts';
import { createUseNotes, findKey, keyHolder } from '../../tools/access/authenticate.ts';
import type { Principal } from '../../tools/access/principal.ts';
import { endedCredential } from '../../tools/access/standing.ts';
import { authenticateCapsule } from '../../tools/capsules/principal.ts';
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
  const keys = new KeysOfConnections(store);

  /** Who sends a bearer token means it: a bad one is not made up for by a cookie. */
  async function find(request: IncomingMessage): Promise<Principal | undefined> {
    const { authorization = '' } = request.headers;
    if (/^bearer\b/i.test(authorization)) {
      const secret = BEARER.exec(authorization)?.[1];
      if (secret === undefined) return undefined;
      const now = time();
      const key = await keys.find(request, secret);
      return key ? keyHolder(store, key, now) : authenticateCapsule(store, catalog, secret, now);
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

/**
 * The keys that connections have shown. A connection that shows the same secret again, of a key whose record is the very same, needs no
 * hash; whether the key is still good is asked each time.
 */
class KeysOfConnections {
  readonly #store: Store;
  readonly #shown = new WeakMap<Socket, { readonly secret: string; readonly key: ApiKeyRecord }>();

  constructor(store: Store) {
    this.#store = store;
  }

  async find({ socket }: IncomingMessage, secret: string): Promise<ApiKeyRecord | undefined> {
    const shown = this.#shown.get(socket);
    if (shown?.secret === secret && (await this.#store.apiKeys.get(shown.key.id)) === shown.key) return shown.key;
    const key = await findKey(this.#store, secret);
    if (key) this.#shown.set(socket, { secret, key });
    return key;
  }
}

/** RFC 6750, section 3.1: who gave no token is told no error. */
export function challengeOf({ headers }: IncomingMessage): Pick<ErrorDetail, 'invalidToken'> {
  return /^bearer\s+\S/i.test(headers.authorization ?? '') ? { invalidToken: true } : {};
}
