import { errorStatus } from '../../resources/error.ts';
import type { Cluster } from '../../store/cluster-port.ts';
import { anonymous, capsuleIn, type Principal } from '../../tools/core/access/principal.ts';
import { createRateLimit } from '../../tools/core/access/rate-limit.ts';
import { ToolError, toToolError } from '../../tools/core/errors.ts';
import type { SignIn } from '../../tools/sign-in/sign-in.ts';
import type { Authenticator } from './authenticate.ts';
import type { CapsuleAccess } from './capsule-access.ts';
import type { Connections } from './connections.ts';
import { wrongMethod } from './endpoints.ts';
import type { Guards } from './guards.ts';
import type { Middleware } from './middleware.ts';
import type { RefusedRequests } from './refused-requests.ts';
import type { CallerChecks, RequestContext } from './request-context.ts';
import { stepUpChallenge } from './respond.ts';

export interface AdmissionOptions {
  readonly authenticator: Authenticator;
  readonly capsules: CapsuleAccess;
  readonly guards: Guards;
  readonly signIn: SignIn;
  readonly refused: RefusedRequests;
  readonly connections: Pick<Connections, 'admit'>;
  /** Calls per minute for each caller; 0 sets no limit. */
  readonly rateLimitPerMinute: number;
  /** Where other processes count the same calls. */
  readonly cluster: Cluster | undefined;
  onStepUp?(app: string): Promise<void> | undefined;
}

/** Finds who calls before anything is said about the path. Refusals are counted. @throws ToolError (unauthenticated, forbidden, rate_limited) */
export function authenticate(options: AdmissionOptions): Middleware {
  const { authenticator, guards, signIn, refused, connections, rateLimitPerMinute, cluster } = options;
  const limit = rateLimitPerMinute === 0 ? undefined : createRateLimit(rateLimitPerMinute, 'calls', { cluster });
  const checks = callerChecks(options);

  /** The body says who the caller is, so credentials in the headers do not count. */
  async function beforeSignIn({ request, address }: RequestContext): Promise<Principal> {
    guards.check(request, true);
    await signIn.attempts.fromAddress('session', address);
    return anonymous(address);
  }

  async function findCaller({ request }: RequestContext): Promise<Principal> {
    const principal = await authenticator.authenticate(request);
    guards.check(request, principal.type === 'session');
    if (limit) await limit(principal.id);
    connections.admit(request);
    return principal;
  }

  return async (context, next) => {
    try {
      const principal = await (context.endpoint?.signsIn ? beforeSignIn(context) : findCaller(context));
      context.admit(principal, checks);
    } catch (refusal) {
      const { code } = toToolError(refusal);
      if (errorStatus[code] < 500) refused.count(context.address, code);
      throw refusal;
    }
    next();
  };
}

/** Callers whose credential opens one MCP address alone. */
const CONFINED: readonly Principal['type'][] = ['capsule', 'app'];

/** Keeps callers from endpoints that their credential does not open, and all others from those of capsules. @throws ToolError */
export function confine(capsules: CapsuleAccess): Middleware {
  return async (context, next) => {
    const { target, endpoint, capsuleId, principal } = context;
    if (!target.url) throw new ToolError('not_found', 'The path is malformed.');
    // Which methods the address of a capsule takes is the same for every caller.
    if (!endpoint && capsuleId !== undefined) throw wrongMethod(context);
    if (CONFINED.includes(principal.type) || capsuleId !== undefined) await capsules.requireAdmitted(context);
    next();
  };
}

function callerChecks({ authenticator, capsules, onStepUp }: AdmissionOptions): CallerChecks {
  return {
    async checkCredential({ request, capsuleId, principal }) {
      const found = await capsules.stillAdmitted(await authenticator.renew(request), capsuleId);
      return found ?? authenticator.problem(principal);
    },
    beforeCall({ principal }) {
      const capsule = capsuleIn(principal);
      return capsule && capsules.use.beforeCall(capsule.id);
    },
    async challengeForScopes({ principal: { resource, id }, response }, scopes) {
      if (resource === undefined || response.headersSent) return;
      response.setHeader('WWW-Authenticate', stepUpChallenge(resource, scopes));
      await onStepUp?.(id);
    },
  };
}
