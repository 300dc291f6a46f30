import type { IncomingMessage, ServerResponse } from 'node:http';
import { cookiesNamed } from '../http/session-cookie.ts';

const NAME = 'admin-return';
const KEPT_SECONDS = 10 * 60;
const LONGEST = 1000;
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Lax';
/** A path of ours and nothing that a browser takes for another server. */
const OURS = /^\/(?![/\\])[\x21-\x7e]*$/;

const OF_APP = '/oauth/consent/';

/** Where signing in again ends. */
export const CONFIRMED = '/sign-in/confirmed';

export const returnPath = {
  keep(response: ServerResponse, path: string): void {
    if (path === '/' || path.length > LONGEST) return;
    response.appendHeader('Set-Cookie', `${NAME}=${encodeURIComponent(path)}; Max-Age=${KEPT_SECONDS}; ${ATTRIBUTES}`);
  },

  forget(response: ServerResponse): void {
    response.appendHeader('Set-Cookie', `${NAME}=; Max-Age=0; ${ATTRIBUTES}`);
  },

  /** Returns the stored path and removes it. `/` if there is none of ours. */
  take(request: IncomingMessage, response: ServerResponse): string {
    const path = keptIn(request);
    if (path !== undefined) this.forget(response);
    return path !== undefined && OURS.test(path) ? path : '/';
  },

  /** Whether somebody signs in because an app waits to be let in. */
  isOfApp(request: IncomingMessage): boolean {
    return keptIn(request)?.startsWith(OF_APP) === true;
  },

  /** Whether somebody who is signed in signs in again, to confirm that it is them. */
  isOfConfirmation(request: IncomingMessage): boolean {
    return goesOnIn(request) !== undefined;
  },

  /** The page on which signing in again begins anew, where that is under way. */
  confirmation(request: IncomingMessage): string | undefined {
    const search = goesOnIn(request);
    return search === undefined ? undefined : `/sign-in/again${search}`;
  },

  /** The page that goes on after confirming. Undefined: another page of the browser waits for it. */
  goesOn(query: URLSearchParams): string | undefined {
    const path = query.get('then') ?? '';
    return OURS.test(path) && path.startsWith(OF_APP) ? path : undefined;
  },
};

/** The query of the kept path where that is the end of signing in again. */
function goesOnIn(request: IncomingMessage): string | undefined {
  const [path, query] = keptIn(request)?.split('?', 2) ?? [];
  if (path !== CONFIRMED) return undefined;
  return query === undefined ? '' : `?${query}`;
}

function keptIn({ headers }: IncomingMessage): string | undefined {
  const [kept] = cookiesNamed(NAME, headers.cookie ?? '');
  return kept === undefined ? undefined : decoded(kept);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
