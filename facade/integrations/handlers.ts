import type { Principal } from '../../tools/core/access/principal.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { IntegrationAccounts } from '../../tools/integrations/accounts/accounts.ts';
import { CALLBACK_PATH, CLIENT_PATH, CONNECT_PATH } from '../../tools/integrations/accounts/links.ts';
import { BrowserSessions } from '../sign-in/browser-sessions.ts';
import { sendPage } from '../sign-in/layout.ts';
import type { HandlerOptions, Handlers, PageRequest } from '../sign-in/page-request.ts';
import { returnPath } from '../sign-in/return-path.ts';
import { connectedPage, connectPage, notConnectedPage, signInFirstPage, toProviderPage } from './views.ts';

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
