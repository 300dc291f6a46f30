import type { AdminUser } from '../../resources/admin-user.ts';
import type { Principal, SessionPrincipal } from '../../tools/core/access/principal.ts';
import { anonymous } from '../../tools/core/access/principal.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { type Call, errorOf } from '../../tools/core/registry/call.ts';
import { authenticateSession } from '../../tools/sign-in/open-sessions.ts';
import { sendOn } from './layout.ts';
import type { HandlerOptions, PageRequest } from './page-request.ts';
import { returnPath } from './return-path.ts';

interface Signed {
  readonly user: Pick<AdminUser, 'id' | 'email' | 'name' | 'role'>;
  readonly expiresAt: string;
}

type Options = Pick<HandlerOptions, 'store' | 'registry' | 'cookies'>;

/** Begins and ends the session of a browser by the tools that all doors use, so their checks and audit entries apply. */
export class BrowserSessions {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  async of({ request }: PageRequest): Promise<SessionPrincipal | undefined> {
    const { cookies, store, registry } = this.#options;
    const session = cookies.read(request);
    return session === undefined ? undefined : authenticateSession(store, session, registry.server.now());
  }

  /** @throws ToolError (unauthenticated) if nobody is signed in */
  async require(context: PageRequest): Promise<SessionPrincipal> {
    const principal = await this.of(context);
    if (principal) return principal;
    throw new ToolError('unauthenticated', 'Authentication required');
  }

  async show(context: PageRequest, principal: Principal): Promise<Signed> {
    const { output } = await this.call(context, { principal, tool: 'get_session', input: {} });
    return output as Signed; // declared by get_session
  }

  /** Ends the request with the page that was asked for before, or the home page. */
  async begin(context: PageRequest, idToken: string): Promise<void> {
    const principal = anonymous(context.address);
    const { began } = await this.call(context, { principal, tool: 'create_session', input: { idToken } });
    if (!began) throw new Error('create_session began no session.');
    this.#options.cookies.set(context.response, began);
    sendOn(context.response, context.around.at(returnPath.take(context.request, context.response)));
  }

  /** The cookie is removed even where ending the session fails. */
  async end(context: PageRequest): Promise<void> {
    this.#options.cookies.clear(context.response);
    const principal = await this.of(context);
    if (principal) await this.call(context, { principal, tool: 'delete_session', input: {} });
  }

  async call({ request, requestId }: PageRequest, asked: Pick<Call, 'principal' | 'tool' | 'input'>) {
    const client = request.headers['user-agent'];
    const answer = await this.#options.registry.call({ ...asked, door: 'rest', requestId, client });
    if (answer.ok) return answer;
    const { retryAfterSeconds, error } = answer;
    throw errorOf(error).with(retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
  }
}
