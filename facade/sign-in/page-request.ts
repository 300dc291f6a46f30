import type { Store } from '../../store/port.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import type { SignIn, Visitor } from '../../tools/sign-in/sign-in.ts';
import type { Dashboard } from '../dashboard/server/dashboard.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { SessionCookies } from '../http/session-cookie.ts';
import type { Browsers } from './browser.ts';
import type { Mailer } from './mail.ts';
import type { IdentityProvider } from './provider.ts';
import type { PageContext } from './views.ts';

interface PageMembers {
  readonly visitor: Visitor;
  /** The secret of the browser. For a form, it was checked that the form belongs to this browser. */
  readonly browser: string;
  /** Empty for a GET. */
  readonly form: ReadonlyMap<string, string>;
  readonly around: PageContext;
}

export type PageRequest = RequestContext & PageMembers;

export type Handler = (context: PageRequest) => Promise<void>;

export type Handlers = Readonly<Record<`${'GET' | 'POST'} ${string}`, Handler>>;

export interface HandlerOptions {
  readonly store: Store;
  readonly registry: Registry;
  readonly signIn: SignIn;
  readonly cookies: SessionCookies;
  readonly browsers: Browsers;
  readonly mailer: Mailer;
  readonly dashboard: Pick<Dashboard, 'sendPage' | 'signInScript'>;
  /** Undefined: people can sign in by link only. */
  readonly provider: IdentityProvider | undefined;
}
