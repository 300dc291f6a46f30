import type { Principal } from '../../tools/core/access/principal.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { IntegrationAccounts, ShownLink } from '../../tools/integrations/accounts/accounts.ts';
import { CALLBACK_PATH, CLIENT_PATH, CONNECT_PATH } from '../../tools/integrations/accounts/links.ts';
import { html } from '../http/html.ts';
import { BrowserSessions } from './browser-sessions.ts';
import { type HtmlPage, sendPage } from './layout.ts';
import type { HandlerOptions, Handlers, PageRequest } from './page-request.ts';
import { returnPath } from './return-path.ts';
import type { PageContext } from './views.ts';

/** The pages on which people connect accounts to integrations, and the document by which providers know this server. */
export function createAccountHandlers(
  accounts: IntegrationAccounts,
  options: Pick<HandlerOptions, 'store' | 'registry' | 'cookies'>,
): Handlers {
  const sessions = new BrowserSessions(options);

  /** Runs the work for the person who is signed in. Problems are shown on a page of their own. */
  async function asPerson(context: PageRequest, work: (person: Principal) => Promise<void>): Promise<void> {
    const { response, around } = context;
    const person = await sessions.of(context);
    if (!person) {
      if (context.url.pathname === CONNECT_PATH) returnPath.keep(response, `${CONNECT_PATH}${context.url.search}`);
      return sendPage(response, 401, signInFirstPage(around));
    }
    try {
      await work(person);
    } catch (error) {
      if (!(error instanceof ToolError) || error.code === 'internal') throw error;
      sendPage(response, STATUS[error.code] ?? 409, notConnectedPage(around, error.message));
    }
  }

  const showLink = (context: PageRequest) =>
    asPerson(context, async (person) => {
      const { response, around, url } = context;
      const secret = url.searchParams.get('link') ?? '';
      const { integration, shared } = await accounts.show(secret, person);
      sendPage(response, 200, connectPage(around, { integration, shared, secret, person: person.name }));
    });

  const openLink = (context: PageRequest) =>
    asPerson(context, async (person) => {
      const { response, around, form } = context;
      sendPage(response, 200, toProviderPage(around, await accounts.open(form.get('link') ?? '', person)));
    });

  const hearProvider = (context: PageRequest) =>
    asPerson(context, async (person) => {
      const { response, around, url } = context;
      const { name } = await accounts.finish(url.searchParams, person);
      sendPage(response, 200, connectedPage(around, name));
    });

  return {
    [`GET ${CONNECT_PATH}`]: showLink,
    [`POST ${CONNECT_PATH}`]: openLink,
    [`GET ${CALLBACK_PATH}`]: hearProvider,
    [`GET ${CLIENT_PATH}`]: async ({ response }) => sendDocument(response, accounts.metadata),
  };
}

function sendDocument(response: PageRequest['response'], document: object): void {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300' });
  response.end(JSON.stringify(document));
}

const STATUS: Partial<Record<ToolError['code'], number>> = { not_found: 404, forbidden: 403, unavailable: 503 };

interface ConnectInput extends ShownLink {
  readonly secret: string;
  readonly person: string;
}

/** Asks for a click, so that a link that is only looked at is not used up. */
function connectPage({ workspace, at, formToken }: PageContext, asked: ConnectInput): HtmlPage {
  const { integration, shared, secret, person } = asked;
  const host = new URL(integration.url ?? 'http://unknown').host;
  return {
    title: `Connect ${integration.name} – ${workspace}`,
    body: html`<h1>Connect ${integration.name}</h1>
<p>You are signed in as <strong>${person}</strong>. ${
      shared
        ? 'The account that you connect is used by everybody who may call the tools of this integration.'
        : 'The account that you connect is used by your own calls, and by agents and flows that act for you.'
    }</p>
<p>Its server is <strong>${host}</strong>. On the next page its provider asks you whether ${workspace} may use your account there.</p>
<form method="post" action="${at('/integrations/connect')}">
<input type="hidden" name="form" value="${formToken}">
<input type="hidden" name="link" value="${secret}">
<button>Continue</button>
</form>`,
  };
}

/** Sends the browser on by itself: the policy of the pages lets no form end at another origin. */
function toProviderPage({ workspace }: PageContext, url: URL): HtmlPage {
  return {
    title: `To ${url.host} – ${workspace}`,
    refresh: url.href,
    body: html`<h1>To ${url.host}</h1>
<p>The provider of the account is <strong>${url.host}</strong>.</p>
<a class="button" href="${url.href}">Continue to ${url.host}</a>`,
  };
}

function connectedPage({ workspace, at }: PageContext, name: string): HtmlPage {
  return {
    title: `${name} is connected – ${workspace}`,
    body: html`<h1>${name} is connected</h1>
<p role="status">You can close this page and make the call again. disconnect_integration ends it.</p>
<a class="button second" href="${at('/')}">Home</a>`,
  };
}

function notConnectedPage({ workspace, at }: PageContext, problem: string): HtmlPage {
  return {
    title: `Not connected – ${workspace}`,
    body: html`<h1>Not connected</h1>
<p role="alert">${problem}</p>
<a class="button second" href="${at('/')}">Home</a>`,
  };
}

function signInFirstPage({ workspace, at }: PageContext): HtmlPage {
  return {
    title: `Sign in first – ${workspace}`,
    body: html`<h1>Sign in first</h1>
<p>An account is connected by the person it belongs to. Sign in, and this page comes back; else open the link again.</p>
<a class="button" href="${at('/sign-in')}">Sign in</a>`,
  };
}
