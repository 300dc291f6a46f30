import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { Html, html } from '../http/html.ts';

/** The text of the style file. The policy of the pages allows only this style, by its hash, and forms to this server. */
const style = readFileSync(new URL('style.css', import.meta.url), 'utf8');
const STYLE_SOURCE = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;

/** Within the page, which asks for no other file. Without one, browsers ask for `/favicon.ico`. */
const icon = readFileSync(new URL('../dashboard/style/icon.svg', import.meta.url), 'base64');

/** `same-origin`, because links contain secrets. `no-referrer` would make browsers send our forms with `Origin: null`. */
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Parts the page from a window that opened it, which would take it for closed. */
const ALONE = { 'Cross-Origin-Opener-Policy': 'same-origin' };

export interface HtmlPage {
  readonly title: string;
  readonly body: Html;
  /** Where the answer to its form may send the browser, besides this server: browsers block other redirects. */
  readonly formsLeadTo?: string;
  /** The address to which the page sends the browser on, without a click. */
  readonly refresh?: string;
  /** The path of the only script. Without one, the page has none. */
  readonly script?: string;
  /** An app may have opened the page in a window of its own, and wait for that window. */
  readonly isAwaited?: boolean;
}

export function sendPage(
  response: ServerResponse,
  status: number,
  { title, body, formsLeadTo, refresh, script, isAwaited = false }: HtmlPage,
): void {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">${
    refresh !== undefined &&
    html`
<meta http-equiv="refresh" content="0;url=${refresh}">`
  }
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="data:image/svg+xml;base64,${icon}">
${script !== undefined && html`<script type="module" src="${script}"></script>`}
<style>${new Html(style)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
  response.writeHead(status, {
    ...HEADERS,
    ...(!isAwaited && ALONE),
    'Content-Security-Policy': policyOf(formsLeadTo, script),
    'Content-Length': Buffer.byteLength(page.text),
  });
  response.end(page.text);
}

function policyOf(formsLeadTo: string | undefined, script: string | undefined): string {
  return [
    "default-src 'none'",
    `style-src ${STYLE_SOURCE}`,
    'img-src data:',
    `form-action 'self'${formsLeadTo === undefined ? '' : ` ${sourceOf(formsLeadTo)}`}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(script === undefined ? [] : SCRIPTED),
  ].join('; ');
}

/** For a page with a script: a file of ours that makes no markup. */
const SCRIPTED = [
  "script-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** The origin of an address, or its scheme where an app of the person has that. */
function sourceOf(address: string): string {
  const { protocol, origin } = new URL(address);
  return /^https?:$/.test(protocol) ? origin : protocol;
}

/** Sends the browser to another page by GET. `location` is one of ours or the configured provider's, never one from a request. */
export function sendOn(response: ServerResponse, location: string): void {
  const headers = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin', 'Content-Length': 0 };
  response.writeHead(303, { Location: location, ...headers });
  response.end();
}
