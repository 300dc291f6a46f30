import type { IncomingMessage } from 'node:http';
import type { Store } from '../store/port.ts';
import { authenticateKey, createUseNotes } from '../tools/access/authenticate.ts';
import type { Principal } from '../tools/access/principal.ts';
import { ToolError } from '../tools/errors.ts';
import { authenticateSession } from '../tools/sign-in/sessions.ts';
import type { SessionCookies } from './session-cookie.ts';

const BEARER = /^bearer +(\S+) *$/i;

export interface Authenticator {
  /** @throws ToolError (unauthenticated) */
  authenticate(request: IncomingMessage): Promise<Principal>;
  /** Whether the same request would still be let in. */
  stillValid(request: IncomingMessage): Promise<boolean>;
}

export interface AuthenticatorOptions {
  readonly store: Store;
  readonly cookies: SessionCookies;
  onFailure(cause: unknown): void;
}

export function createAuthenticator({ store, cookies, onFailure }: AuthenticatorOptions): Authenticator {
  const noteUse = createUseNotes(store, onFailure);

  /** Who sends a bearer token means it: a bad one is not made up for by a cookie. */
  async function find(request: IncomingMessage): Promise<Principal | undefined> {
    const { authorization = '' } = request.headers;
    if (/^bearer\b/i.test(authorization)) {
      const secret = BEARER.exec(authorization)?.[1];
      return secret === undefined ? undefined : authenticateKey(store, secret, new Date());
    }
    const session = cookies.read(request);
    return session === undefined ? undefined : authenticateSession(store, session, new Date());
  }

  return {
    async authenticate(request) {
      const principal = await find(request);
      if (!principal) throw new ToolError('unauthenticated', 'Authentication required');
      noteUse(principal, new Date());
      return principal;
    },
    stillValid: async (request) => (await find(request)) !== undefined,
  };
}
