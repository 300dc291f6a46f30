import type { AdminUser } from '../../resources/admin-user.ts';
import { anonymous } from '../../tools/core/access/anonymous.ts';
import type { Principal, SessionPrincipal } from '../../tools/core/access/principal.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { type Call, errorOf } from '../../tools/core/registry/call.ts';
import { authenticateSession } from '../../tools/sign-in/open-sessions.ts';
import { sendOn } from './layout.ts';
import { returnPath } from './return-path.ts';
import type { HandlerOptions, Visit } from './visit.ts';

/** What `get_session` answers. */
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

  async of({ request }: Visit): Promise<SessionPrincipal | undefined> {
    const { cookies, store, registry } = this.#options;
    const session = cookies.read(request);
    return session === undefined ? undefined : authenticateSession(store, session, registry.server.now());
  }

  /** @throws ToolError (unauthenticated) where nobody is signed in */
  async require(visit: Visit): Promise<SessionPrincipal> {
    const principal = await this.of(visit);
    if (principal) return principal;
    throw new ToolError('unauthenticated', 'Authentication required');
  }

  async show(visit: Visit, principal: Principal): Promise<Signed> {
    const { output } = await this.call(visit, { principal, tool: 'get_session', input: {} });
    return output as Signed; // declared by get_session
  }

  /** Ends the request with the page that was asked for before, or the home page. */
  async begin(visit: Visit, idToken: string): Promise<void> {
    const principal = anonymous(visit.visitor.address);
    const { began } = await this.call(visit, { principal, tool: 'create_session', input: { idToken } });
    if (!began) throw new Error('create_session began no session.');
    this.#options.cookies.set(visit.response, began);
    sendOn(visit.response, visit.around.at(returnPath.take(visit.request, visit.response)));
  }

  /** The cookie is removed even where ending the session fails. */
  async end(visit: Visit): Promise<void> {
    this.#options.cookies.clear(visit.response);
    const principal = await this.of(visit);
    if (principal) await this.call(visit, { principal, tool: 'delete_session', input: {} });
  }

  /** Calls a tool for the page. @throws ToolError */
  async call({ request, visitor }: Visit, asked: Pick<Call, 'principal' | 'tool' | 'input'>) {
    const client = request.headers['user-agent'];
    const { requestId } = visitor;
    const answer = await this.#options.registry.call({ ...asked, door: 'rest', requestId, client });
    if (answer.ok) return answer;
    const { retryAfterSeconds, error } = answer;
    throw errorOf(error).with(retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
  }
}
