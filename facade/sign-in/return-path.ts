import type { IncomingMessage, ServerResponse } from 'node:http';
import { cookiesNamed } from '../http/session-cookie.ts';

const NAME = 'admin-return';
const KEPT_SECONDS = 10 * 60;
const LONGEST = 1000;
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Lax';
/** A path of ours and nothing that a browser takes for another server. */
const OURS = /^\/(?![/\\])[\x21-\x7e]*$/;

/** Where signing in again ends. */
export const CONFIRMED = '/sign-in/confirmed';

/** The page that somebody asked for before signing in, kept in the browser meanwhile. */
export const returnPath = {
  keep(response: ServerResponse, path: string): void {
    if (path === '/' || path.length > LONGEST) return;
    response.appendHeader('Set-Cookie', `${NAME}=${encodeURIComponent(path)}; Max-Age=${KEPT_SECONDS}; ${ATTRIBUTES}`);
  },

  forget(response: ServerResponse): void {
    response.appendHeader('Set-Cookie', `${NAME}=; Max-Age=0; ${ATTRIBUTES}`);
  },

  /** The kept path, which is forgotten. `/` where there is none of ours. */
  take(request: IncomingMessage, response: ServerResponse): string {
    const path = keptIn(request);
    if (path !== undefined) this.forget(response);
    return path !== undefined && OURS.test(path) ? path : '/';
  },

  /** Whether somebody signs in because an app waits to be let in. */
  isOfApp(request: IncomingMessage): boolean {
    return keptIn(request)?.startsWith('/oauth/consent/') === true;
  },

  /** Whether somebody who is signed in signs in again, to confirm that it is them. */
  isOfConfirmation(request: IncomingMessage): boolean {
    return keptIn(request) === CONFIRMED;
  },
};

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
