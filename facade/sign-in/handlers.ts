import { ToolError } from '../../tools/core/errors.ts';
import { sendJson } from '../http/respond.ts';
import { BrowserSessions } from './browser-sessions.ts';
import { sendOn, sendPage } from './layout.ts';
import { linkMail } from './mail.ts';
import type { HandlerOptions, Handlers, PageRequest } from './page-request.ts';
import { passkeyHandlers, passkeysOf } from './passkeys.ts';
import type { IdentityProvider } from './provider.ts';
import { CONFIRMED, returnPath } from './return-path.ts';
import { confirmedPage, linkPage, sentPage, signInPage } from './views.ts';

/** The handler of every page of the dashboard, whatever its path. */
export const ANY_PAGE = 'GET *';

/** What the pages do. Every change is a POST, because programs that scan mail follow links. */
export function createHandlers(options: HandlerOptions): Handlers {
  const sessions = new BrowserSessions(options);
  return {
    ...sessionHandlers(options, sessions),
    ...confirmationHandlers(options, sessions),
    ...passkeyHandlers(options, sessions),
    ...linkHandlers(options, sessions),
    ...(options.provider && providerHandlers(options, options.provider, sessions)),
  };
}

/** The ways to sign in besides a link. Passkeys are offered where somebody has one. */
async function waysIn({ provider, signIn, store, dashboard }: HandlerOptions) {
  const offersPasskeys = signIn.passkeys.problem === undefined && (await store.passkeys.count({})) > 0;
  return {
    provider: provider?.name,
    // Without its script the page offers the other ways.
    passkeyScript: offersPasskeys ? await dashboard.signInScript().catch(() => undefined) : undefined,
  };
}

function sessionHandlers(options: HandlerOptions, sessions: BrowserSessions): Handlers {
  const { dashboard, registry } = options;

  async function showDashboard(context: PageRequest): Promise<void> {
    const { request, response, around, url } = context;
    const principal = await sessions.of(context);
    if (!principal) {
      returnPath.keep(response, `${url.pathname}${url.search}`);
      return sendOn(response, around.at('/sign-in'));
    }
    const { workspace, formToken } = around;
    const { user, expiresAt } = await sessions.show(context, principal);
    await dashboard.sendPage(request, response, {
      workspace,
      formToken,
      sendsMail: options.mailer.kind === 'smtp',
      user,
      expiresAt,
      base: around.at(''),
      tools: registry.list(principal).map(({ tool }) => tool.name),
    });
  }

  async function showSignIn(context: PageRequest): Promise<void> {
    const { request, response, around, url } = context;
    const again = returnPath.confirmation(request);
    if (again !== undefined) return sendOn(response, around.at(again));
    if (await sessions.of(context)) return sendOn(response, around.at(returnPath.take(request, response)));
    const signedOut = url.searchParams.has('signed-out');
    const connecting = returnPath.isOfApp(request);
    const ways = await waysIn(options);
    sendPage(response, 200, signInPage(around, { ...ways, signedOut, connecting }));
  }

  async function signOut(context: PageRequest): Promise<void> {
    await sessions.end(context);
    sendOn(context.response, context.around.at('/sign-in?signed-out'));
  }

  return { 'GET /': showDashboard, [ANY_PAGE]: showDashboard, 'GET /sign-in': showSignIn, 'POST /sign-out': signOut };
}

/** For people who are signed in, where a call needs a fresh sign-in. */
function confirmationHandlers(options: HandlerOptions, sessions: BrowserSessions): Handlers {
  async function showAgain(context: PageRequest): Promise<void> {
    const { response, around, url } = context;
    const principal = await sessions.of(context);
    if (!principal) {
      returnPath.forget(response);
      return sendOn(response, around.at('/sign-in'));
    }
    const then = returnPath.goesOn(url.searchParams);
    returnPath.keep(response, then === undefined ? CONFIRMED : `${CONFIRMED}?${new URLSearchParams({ then })}`);
    const again = { name: principal.name, forApp: then !== undefined };
    sendPage(response, 200, signInPage(around, { ...(await waysIn(options)), again, connecting: again.forApp }));
  }

  async function showConfirmed(context: PageRequest): Promise<void> {
    const principal = await sessions.of(context);
    const { search, searchParams } = context.url;
    if (principal?.freshUntil === undefined)
      return sendOn(context.response, context.around.at(`/sign-in/again${search}`));
    const then = returnPath.goesOn(searchParams);
    if (then !== undefined) return sendOn(context.response, context.around.at(then));
    sendPage(context.response, 200, confirmedPage(context.around));
  }

  /** What a page of the dashboard asks while it waits. */
  async function showState(context: PageRequest): Promise<void> {
    const principal = await sessions.of(context);
    const { problem } = options.signIn.passkeys;
    if (!principal) return sendJson(context.response, 200, {});
    const passkeys = problem === undefined ? (await passkeysOf(options, principal.id)).length : 0;
    const { id: userId, freshUntil } = principal;
    sendJson(context.response, 200, { userId, freshUntil, passkeys, passkeyProblem: problem });
  }

  return { 'GET /sign-in/again': showAgain, [`GET ${CONFIRMED}`]: showConfirmed, 'GET /sign-in/state': showState };
}

function linkHandlers(options: HandlerOptions, sessions: BrowserSessions): Handlers {
  const { signIn, mailer } = options;

  async function requestLink({ response, form, visitor, browser, around }: PageRequest): Promise<void> {
    const email = (form.get('email') ?? '').trim();
    let secret: string | undefined;
    try {
      secret = await signIn.requestLink(email, browser, visitor);
    } catch (error) {
      if (!(error instanceof ToolError) || error.code !== 'invalid_input') throw error;
      return sendPage(response, 400, signInPage(around, { ...(await waysIn(options)), wrong: email }));
    }
    sendOn(response, around.at('/sign-in/sent'));
    // The mail is sent after the answer, so that the time of the answer does not show whether the e-mail belongs to anybody.
    if (secret === undefined) return;
    const mail = linkMail({ to: email, workspace: around.workspace, url: signIn.linkUrl(secret) });
    setImmediate(() => mailer.send(mail));
  }

  async function showSent({ response, around }: PageRequest): Promise<void> {
    sendPage(response, 200, sentPage(around, mailer.kind === 'smtp'));
  }

  async function showLink({ response, url, around }: PageRequest): Promise<void> {
    sendPage(response, 200, linkPage(around, url.searchParams.get('token') ?? ''));
  }

  async function followLink(context: PageRequest): Promise<void> {
    const { form, browser, visitor } = context;
    await sessions.begin(context, await signIn.redeemLink(form.get('token') ?? '', browser, visitor));
  }

  return {
    'POST /sign-in': requestLink,
    'GET /sign-in/sent': showSent,
    'GET /sign-in/link': showLink,
    'POST /sign-in/link': followLink,
  };
}

function providerHandlers(
  { signIn, browsers }: HandlerOptions,
  provider: IdentityProvider,
  sessions: BrowserSessions,
): Handlers {
  async function askProvider({ request, response, browser }: PageRequest): Promise<void> {
    const { url, flows } = await provider.begin(browsers.kept(request), returnPath.isOfConfirmation(request));
    browsers.keep(response, browser, flows);
    sendOn(response, url);
  }

  async function hearProvider(context: PageRequest): Promise<void> {
    const { request, response, url, browser, visitor } = context;
    const [query, kept] = [url.search.slice(1), browsers.kept(request)];
    browsers.keep(response, browser, provider.left(query, kept));
    const prove = () => provider.finish(query, kept);
    await sessions.begin(context, await signIn.redeemIdentity(prove, visitor));
  }

  return { 'GET /sign-in/oidc': askProvider, 'GET /sign-in/oidc/callback': hearProvider };
}
