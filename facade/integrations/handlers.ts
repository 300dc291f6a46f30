import type { Principal } from '../../tools/core/access/principal.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { IntegrationAccounts } from '../../tools/integrations/accounts/accounts.ts';
import { CALLBACK_PATH, CLIENT_PATH, CONNECT_PATH } from '../../tools/integrations/accounts/links.ts';
import { BrowserSessions } from '../sign-in/browser-sessions.ts';
import { sendPage } from '../sign-in/layout.ts';
import { returnPath } from '../sign-in/return-path.ts';
import type { HandlerOptions, Handlers, Visit } from '../sign-in/visit.ts';
import { connectedPage, connectPage, leavePage, notConnectedPage, signInFirstPage } from './views.ts';

/** The pages on which people connect accounts to integrations, and the document by which providers know this server. */
export function createAccountHandlers(
  accounts: IntegrationAccounts,
  options: Pick<HandlerOptions, 'store' | 'registry' | 'cookies'>,
): Handlers {
  const sessions = new BrowserSessions(options);

  /** Runs the work for the person who is signed in. Problems are shown on a page of their own. */
  async function asPerson(visit: Visit, work: (person: Principal) => Promise<void>): Promise<void> {
    const { response, around } = visit;
    const person = await sessions.of(visit);
    if (!person) {
      if (visit.url.pathname === CONNECT_PATH) returnPath.keep(response, `${CONNECT_PATH}${visit.url.search}`);
      return sendPage(response, 401, signInFirstPage(around));
    }
    try {
      await work(person);
    } catch (error) {
      if (!(error instanceof ToolError) || error.code === 'internal') throw error;
      sendPage(response, STATUS[error.code] ?? 409, notConnectedPage(around, error.message));
    }
  }

  const showLink = (visit: Visit) =>
    asPerson(visit, async (person) => {
      const { response, around, url } = visit;
      const secret = url.searchParams.get('link') ?? '';
      const { integration, shared } = await accounts.show(secret, person);
      sendPage(response, 200, connectPage(around, { integration, shared, secret, person: person.name }));
    });

  const openLink = (visit: Visit) =>
    asPerson(visit, async (person) => {
      const { response, around, form } = visit;
      sendPage(response, 200, leavePage(around, await accounts.open(form.get('link') ?? '', person)));
    });

  const hearProvider = (visit: Visit) =>
    asPerson(visit, async (person) => {
      const { response, around, url } = visit;
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

function sendDocument(response: Visit['response'], document: object): void {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'public, max-age=300' });
  response.end(JSON.stringify(document));
}

const STATUS: Partial<Record<ToolError['code'], number>> = { not_found: 404, forbidden: 403, unavailable: 503 };
