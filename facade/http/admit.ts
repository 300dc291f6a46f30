import type { IncomingMessage } from 'node:http';
import { errorStatus } from '../../resources/error.ts';
import { anonymous } from '../../tools/access/anonymous.ts';
import type { Principal } from '../../tools/access/principal.ts';
import { createRateLimit } from '../../tools/access/rate-limit.ts';
import { toToolError } from '../../tools/registry/errors.ts';
import type { Registry } from '../../tools/registry/registry.ts';
import type { SignIn } from '../../tools/sign-in/sign-in.ts';
import { routes } from '../routes.ts';
import type { Authenticator } from './authenticate.ts';
import { addressOf } from './caller-address.ts';
import type { Guards } from './guards.ts';
import type { RefusedRequests } from './refused-requests.ts';

export interface AdmissionOptions {
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly guards: Guards;
  readonly signIn: SignIn;
  readonly refused: RefusedRequests;
  /** For each caller; 0 sets no limit. */
  readonly rateLimitPerMinute: number;
}

type Request = IncomingMessage & { readonly originalUrl?: string };

/** Finds who calls. What it refuses is counted. @throws ToolError (unauthenticated, forbidden, rate_limited) */
export function createAdmission(options: AdmissionOptions): (request: Request) => Promise<Principal> {
  const { registry, authenticator, guards, signIn, refused, rateLimitPerMinute } = options;
  const limit = rateLimitPerMinute === 0 ? undefined : createRateLimit(rateLimitPerMinute, 'calls');
  const signingIn = new Set(
    routes
      .filter(({ tool }) => registry.server.catalog.get(tool)?.tool.session === 'begins')
      .map(({ method, path }) => `${method} ${path}`),
  );

  async function admit(request: Request): Promise<Principal> {
    // Says who it is by its body, whatever else it carries.
    if (signingIn.has(`${request.method} ${(request.originalUrl ?? request.url)?.split('?')[0]}`)) {
      guards.check(request, true);
      const address = addressOf(request);
      await signIn.attempts.fromAddress('session', address);
      return anonymous(address);
    }
    const principal = await authenticator.authenticate(request);
    guards.check(request, principal.type === 'session');
    await limit?.(principal.id);
    return principal;
  }

  return async (request) => {
    try {
      return await admit(request);
    } catch (refusal) {
      const { code } = toToolError(refusal);
      if (errorStatus[code] < 500) refused.count(addressOf(request), code);
      throw refusal;
    }
  };
}
