import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectedAppRecord } from '../../resources/connected-app.ts';
import type { OAuthStateRecord } from '../../resources/oauth-state.ts';
import type { Readers, Store } from '../../store/port.ts';
import { findToken, type PresentedToken, tokenPrincipal } from '../../tools/core/access/capsule-principal.ts';
import { endedCredential } from '../../tools/core/access/credential-status.ts';
import { createUseRecorder, findKey, keyPrincipal, type PresentedKey } from '../../tools/core/access/key-principal.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { type ErrorDetail, ToolError } from '../../tools/core/errors.ts';
import type { Catalog } from '../../tools/core/registry/catalog-index.ts';
import { authenticateSession } from '../../tools/sign-in/open-sessions.ts';
import type { SessionCookies } from './session-cookie.ts';

export const BEARER = /^bearer +(\S+) *$/i;

export interface Authenticator {
  /** @throws ToolError (unauthenticated) */
  authenticate(request: IncomingMessage): Promise<Principal>;
  refusal(request: IncomingMessage): ToolError;
  /** The principal that the same request would have now. Undefined if it would be refused. */
  renew(request: IncomingMessage): Promise<Principal | undefined>;
  problem(principal: Principal): Promise<ToolError>;
}

interface PresentedAccess {
  readonly token: OAuthStateRecord;
  readonly app: ConnectedAppRecord;
}

export interface AccessTokens {
  /** The access token that the secret is, whether or not it is good here and now. Undefined where it is none. */
  find(secret: string): Promise<PresentedAccess | undefined>;
  isSame(found: PresentedAccess): Promise<boolean>;
  /** Whom the token stands for at the address that the request came to. */
  holder(found: PresentedAccess, request: IncomingMessage): Promise<Principal | undefined>;
  challenge(request: IncomingMessage): Pick<ErrorDetail, 'signIn'>;
}

interface AuthenticatorOptions {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly cookies: SessionCookies;
  readonly accessTokens: AccessTokens | undefined;
  onFailure(cause: unknown): void;
  now(): Date;
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { catalog, cookies, accessTokens, onFailure, now: time } = options;
  const noteUse = createUseRecorder(options.store, onFailure);
  const store = options.store.credentials ?? options.store;
  const shown = new CredentialCache(store, accessTokens);

  /** If there is a bearer token, it alone counts: a cookie does not make up for a bad one. */
  async function find(request: IncomingMessage): Promise<Principal | undefined> {
    const { authorization = '' } = request.headers;
    if (/^bearer\b/i.test(authorization)) {
      const found = await shown.find(request.socket, authorization);
      return found && holderOf(found, request);
    }
    const session = cookies.read(request);
    return session === undefined ? undefined : authenticateSession(store, session, time());
  }

  function refusal(request: IncomingMessage): ToolError {
    const detail = { ...challengeOf(request), ...accessTokens?.challenge(request) };
    return new ToolError('unauthenticated', 'Authentication required', detail);
  }

  async function holderOf(found: Secret, request: IncomingMessage): Promise<Principal | undefined> {
    const now = time();
    if ('key' in found) return keyPrincipal(store, found, now);
    if ('capsule' in found) return tokenPrincipal(store, found, { catalog, now });
    return accessTokens?.holder(found, request);
  }

  return {
    async authenticate(request) {
      const principal = await find(request);
      if (!principal) throw refusal(request);
      if (principal.type !== 'capsule') noteUse(principal, time());
      return principal;
    },
    refusal,
    renew: find,
    problem: (principal) => endedCredential(principal, store, { catalog, now: time() }),
  };
}

type Secret = PresentedKey | PresentedToken | PresentedAccess;

/** The last secret of each connection: shown again with the same record, it needs no hash. Its validity is checked each time. */
class CredentialCache {
  readonly #store: Readers;
  readonly #accessTokens: AccessTokens | undefined;
  readonly #known = new WeakMap<Socket, { readonly authorization: string; readonly found: Secret }>();

  constructor(store: Readers, accessTokens: AccessTokens | undefined) {
    this.#store = store;
    this.#accessTokens = accessTokens;
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
    const found = (await findKey(this.#store, secret)) ?? (await findToken(this.#store, secret));
    return found ?? this.#accessTokens?.find(secret);
  }

  async #isSame(found: Secret): Promise<boolean> {
    if ('key' in found) return (await this.#store.apiKeys.get(found.key.id)) === found.key;
    if ('capsule' in found) return (await this.#store.capsules.get(found.capsule.id)) === found.capsule;
    return (await this.#accessTokens?.isSame(found)) === true;
  }
}

/** RFC 6750, section 3.1: a request without a token gets no error code in the challenge. */
export function challengeOf({ headers }: IncomingMessage): Pick<ErrorDetail, 'invalidToken'> {
  return /^bearer\s+\S/i.test(headers.authorization ?? '') ? { invalidToken: true } : {};
}
