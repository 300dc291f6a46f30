import type { ServerResponse } from 'node:http';
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import type { Readers } from '../../store/port.ts';
import { readSettings } from '../../tools/settings/settings.ts';
import { contextOf } from '../http/request-context.ts';
import { sendPage } from '../sign-in/layout.ts';
import { problemPage } from '../sign-in/views.ts';
import { type Addresses, paths } from './addresses.ts';
import { type Problem, problemOf, sendProblem } from './answers.ts';
import { redirectHost, THIS_COMPUTER } from './client-metadata.ts';
import type { ClientKind } from './clients.ts';

type ShowProblem = (response: ServerResponse, problem: Problem) => Promise<void>;

/** Shows the person in the browser why the app cannot be connected. If the app's address is the problem, the app itself gets no answer. */
export function createShowProblem(store: Pick<Readers, 'settings'>, { prefix }: Addresses): ShowProblem {
  return async (response, { status, error, description, retryAfterSeconds }) => {
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
    const around = { workspace: (await readSettings(store)).workspaceName, at: (path: string) => prefix + path };
    const problem = {
      title: 'This app cannot be connected',
      text: `${description} (${error}) Start again in the app; if that does not help, report it to the maker of the app.`,
      requestId: contextOf(response).requestId,
    };
    sendPage(response, status, problemPage(around, problem));
  };
}

/** How the library's errors are shown where they cannot be sent back to the client. */
export function errorRenderer(show: ShowProblem): NonNullable<Configuration['renderError']> {
  return async (context, { error, error_description: description = 'The request is not valid.' }, thrown) => {
    context.respond = false;
    const { status } = context.status >= 400 ? context : problemOf(thrown);
    const problem = { status, error, description };
    if (context.path.startsWith(paths.authorize)) await show(context.res, problem);
    else sendProblem(context.res, problem);
  };
}

interface Options {
  readonly addresses: Addresses;
  readonly showProblem: ShowProblem;
  /** How the client became known; undefined for an unknown one. */
  kindOf(clientId: string): Promise<ClientKind | undefined>;
}

/**
 * Shows errors of requests that no person saw, instead of redirecting to the page or app of a client: otherwise anybody could register
 * and lead people from here to any page (RFC 9700, section 4.11.2). Clients made by an administrator are trusted.
 */
export function earlyErrors({ addresses, showProblem, kindOf }: Options) {
  return async (context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> => {
    await next();
    const location = context.response.get('Location');
    if (context.path !== paths.authorize || location === '' || !isElsewhere(location, addresses)) return;
    const clientId = context.oidc.client?.clientId;
    if (clientId !== undefined && (await kindOf(clientId)) === 'made') return;
    const { search, hash } = new URL(location);
    const answer = new URLSearchParams(search === '' ? hash.slice(1) : search);
    context.respond = false;
    context.res.removeHeader('Location');
    await showProblem(context.res, {
      status: 400,
      error: answer.get('error') ?? 'invalid_request',
      description: answer.get('error_description') ?? 'The request is not valid.',
    });
  };
}

function isElsewhere(location: string, { base }: Addresses): boolean {
  const { href, origin } = new URL(location, base);
  return origin !== base.origin && redirectHost(href) !== THIS_COMPUTER;
}
