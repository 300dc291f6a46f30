import type { IncomingMessage } from 'node:http';
import type { Store } from '../store/port.ts';
import { authenticateKey, createUseNotes } from '../tools/access/authenticate.ts';
import type { Principal } from '../tools/access/principal.ts';
import { ToolError } from '../tools/errors.ts';
import type { AuthFailures } from './auth-failures.ts';

const BEARER = /^bearer +(\S+) *$/i;

export interface Authenticator {
  /** @throws ToolError (unauthenticated) */
  authenticate(request: IncomingMessage): Promise<Principal>;
  /** Whether the same request would still be let in. */
  stillValid(request: IncomingMessage): Promise<boolean>;
}

export interface AuthenticatorOptions {
  readonly store: Store;
  readonly failures: AuthFailures;
  onFailure(cause: unknown): void;
}

export function createAuthenticator({ store, failures, onFailure }: AuthenticatorOptions): Authenticator {
  const noteUse = createUseNotes(store, onFailure);

  async function find(request: IncomingMessage): Promise<Principal | undefined> {
    const secret = BEARER.exec(request.headers.authorization ?? '')?.[1];
    return secret === undefined ? undefined : authenticateKey(store, secret, new Date());
  }

  return {
    async authenticate(request) {
      const principal = await find(request);
      if (!principal) {
        failures.count(request.socket.remoteAddress ?? 'unknown');
        throw new ToolError('unauthenticated', 'Authentication required');
      }
      noteUse(principal.id, new Date());
      return principal;
    },
    stillValid: async (request) => (await find(request)) !== undefined,
  };
}
