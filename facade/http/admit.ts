import type { IncomingMessage } from 'node:http';
import { errorStatus } from '../../resources/error.ts';
import type { Cluster } from '../../store/cluster-port.ts';
import { anonymous } from '../../tools/core/access/anonymous.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { createRateLimit } from '../../tools/core/access/rate-limit.ts';
import { toToolError } from '../../tools/core/errors.ts';
import type { SignIn } from '../../tools/sign-in/sign-in.ts';
import type { Authenticator } from './authenticate.ts';
import { addressOf } from './caller-address.ts';
import type { Guards } from './guards.ts';
import type { RefusedRequests } from './refused-requests.ts';

export interface AdmissionOptions {
  readonly authenticator: Authenticator;
  readonly guards: Guards;
  readonly signIn: SignIn;
  readonly refused: RefusedRequests;
  /** Calls per minute for each caller; 0 sets no limit. */
  readonly rateLimitPerMinute: number;
  /** Where other processes count the same calls. */
  readonly cluster: Cluster | undefined;
}

/** Finds who calls. Refusals are counted. @throws ToolError (unauthenticated, forbidden, rate_limited) */
type Admission = (request: IncomingMessage, signsIn: boolean) => Promise<Principal>;

export function createAdmission(options: AdmissionOptions): Admission {
  const { authenticator, guards, signIn, refused, rateLimitPerMinute, cluster } = options;
  const limit = rateLimitPerMinute === 0 ? undefined : createRateLimit(rateLimitPerMinute, 'calls', { cluster });

  /** The body says who the caller is, so credentials in the headers do not count. */
  async function beforeSignIn(request: IncomingMessage): Promise<Principal> {
    guards.check(request, true);
    const address = addressOf(request);
    await signIn.attempts.fromAddress('session', address);
    return anonymous(address);
  }

  return async (request, signsIn) => {
    try {
      if (signsIn) return await beforeSignIn(request);
      const principal = await authenticator.authenticate(request);
      guards.check(request, principal.type === 'session');
      if (limit) await limit(principal.id);
      return principal;
    } catch (refusal) {
      const { code } = toToolError(refusal);
      if (errorStatus[code] < 500) refused.count(addressOf(request), code);
      throw refusal;
    }
  };
}
