import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ToolError } from '../../tools/core/errors.ts';
import { cookiesNamed } from '../http/session-cookie.ts';

/** Recognises a browser before anybody signs in, by a secret in a cookie. */
export type Browsers = ReturnType<typeof createBrowsers>;

const SECRET = /^[\w-]{43}$/;
const LIFETIME_SECONDS = 24 * 60 * 60;
const KEPT_SECONDS = 10 * 60;

/** `secure`: browsers use https. The cookie name then makes them refuse a cookie set by another host. */
export function createBrowsers(secure: boolean) {
  const prefix = secure ? '__Host-' : '';
  const [own, kept] = [`${prefix}admin-browser`, `${prefix}admin-flow`];
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;

  function set(response: ServerResponse, name: string, value: string, seconds: number): void {
    response.appendHeader('Set-Cookie', `${name}=${value}; Max-Age=${seconds}; ${attributes}`);
  }

  function secretOf({ headers }: IncomingMessage): string | undefined {
    const [value = ''] = cookiesNamed(own, headers.cookie ?? '');
    return SECRET.test(value) ? value : undefined;
  }

  return {
    /** The secret of the browser. A browser without one gets one. */
    meet(request: IncomingMessage, response: ServerResponse): string {
      const secret = secretOf(request) ?? randomBytes(32).toString('base64url');
      set(response, own, secret, LIFETIME_SECONDS);
      return secret;
    },
    /** The secret of a browser that sent one of our forms. @throws ToolError (forbidden) if another browser got the form */
    recognise(request: IncomingMessage, form: ReadonlyMap<string, string>): string {
      const secret = secretOf(request);
      if (secret !== undefined && equal(form.get(FORM_MEMBER) ?? '', formToken(secret))) return secret;
      throw new ToolError('forbidden', UNKNOWN_BROWSER);
    },
    /** Stores a signed text in the browser for a while. Undefined removes it. */
    keep(response: ServerResponse, secret: string, text: string | undefined): void {
      const body = Buffer.from(text ?? '').toString('base64url');
      if (text === undefined) set(response, kept, '', 0);
      else set(response, kept, `${body}.${sign(secret, `kept ${body}`)}`, KEPT_SECONDS);
    },
    /** The stored text. Undefined if there is none, or it was not signed for this browser. */
    kept(request: IncomingMessage): string | undefined {
      const secret = secretOf(request);
      const [body = '', signature = ''] = (cookiesNamed(kept, request.headers.cookie ?? '')[0] ?? '').split('.');
      if (secret === undefined || !equal(signature, sign(secret, `kept ${body}`))) return undefined;
      return Buffer.from(body, 'base64url').toString('utf8');
    },
  };
}

const FORM_MEMBER = 'form';
const UNKNOWN_BROWSER =
  'This form is too old, or your browser did not send back the cookie that came with it. Allow cookies here and start again.';

/** The token in a browser's forms. It shows that a form is ours without revealing the browser's secret. */
export function formToken(secret: string): string {
  return sign(secret, 'form');
}

/** Marks a text as decided in this browser, so that it can come back in an address. */
export function markFor(secret: string, text: string): string {
  return sign(secret, `decided ${text}`);
}

export function isMarkFor(secret: string, text: string, mark: string): boolean {
  return equal(mark, markFor(secret, text));
}

function sign(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}

function equal(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
