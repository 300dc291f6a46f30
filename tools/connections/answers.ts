import { ToolError } from '../core/errors.ts';
import type { Scrubber } from '../core/outbound/untrusted-text.ts';

/** What came back, with nothing of the secrets in it. The body is as it came. */
export interface HttpExchange {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly truncated: boolean;
  readonly scrubber: Scrubber;
}

/** Failures after which certainly nothing was sent. */
export const NOT_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

export function inDoubt(name: string, why: string): ToolError {
  const message = `The connection ${name} failed, and what was sent may have been taken all the same; look before you try again. ${why}`;
  return new ToolError('unavailable', message);
}

/** The error for an answer that asks to come again later, or that refuses a message. */
export function refused(
  name: string,
  status: number,
  { words, afterMs }: { readonly words: string; readonly afterMs?: number | undefined },
): ToolError {
  const said = words && ` It said: ${words}`;
  if (status !== 429 && status !== 503)
    return new ToolError('conflict', `The connection ${name} answered ${status}.${said}`);
  const seconds = afterMs === undefined ? undefined : Math.ceil(afterMs / 1000);
  const when = seconds === undefined ? 'try again later' : `try again in ${seconds} seconds`;
  return new ToolError('unavailable', `The connection ${name} answered ${status}; ${when}.${said}`, {
    ...(status === 429 && { notMade: true as const }),
    ...(seconds !== undefined && { retryAfterSeconds: seconds }),
  });
}

const LONGEST_QUOTE = 300;

/** Words of the other server, marked as a quotation. */
export function quote({ body, scrubber }: Pick<HttpExchange, 'body' | 'scrubber'>): string {
  const text = scrubber.shown(body.toString('utf8'), LONGEST_QUOTE);
  return text && JSON.stringify(text);
}

const MOST_HEADERS = 60;
/** They set up something between the two servers. */
const HIDDEN = new Set(['set-cookie', 'connection', 'keep-alive', 'transfer-encoding', 'www-authenticate', 'alt-svc']);

export function shownHeaders(headers: Headers, scrubber: Scrubber): Record<string, string> {
  const shown = [...headers].filter(([name]) => !HIDDEN.has(name)).slice(0, MOST_HEADERS);
  return Object.fromEntries(shown.map(([name, value]) => [scrubber.shown(name, 100), scrubber.shown(value, 1000)]));
}
