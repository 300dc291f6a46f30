import type { ServerResponse } from 'node:http';
import type { Configuration } from 'oidc-provider';
import type { Readers } from '../../store/port.ts';
import { readSettings } from '../../tools/settings/settings.ts';
import { contextOf } from '../http/request-context.ts';
import { sendPage } from '../sign-in/layout.ts';
import { problemPage } from '../sign-in/views.ts';
import { type Addresses, paths } from './addresses.ts';
import { type Problem, problemOf, sendProblem } from './answers.ts';

export type ShowProblem = (response: ServerResponse, problem: Problem) => Promise<void>;

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
