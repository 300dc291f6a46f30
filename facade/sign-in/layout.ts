import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { Html, html } from './html.ts';

/** Its own text and nothing else: what the policy allows is this style, by its hash, and forms to this server. */
const style = readFileSync(new URL('style.css', import.meta.url), 'utf8');
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** `same-origin` and not `no-referrer`: with that browsers send their forms with `Origin: null`. Links carry secrets, so no more than that. */
const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

export interface Page {
  readonly title: string;
  readonly body: Html;
}

export function sendPage(response: ServerResponse, status: number, { title, body }: Page): void {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
  response.writeHead(status, { ...HEADERS, 'Content-Length': Buffer.byteLength(page.text) });
  response.end(page.text);
}

/** Sends the browser on with a GET. `location` is ours or that of the configured provider, never one that came with a request. */
export function sendOn(response: ServerResponse, location: string): void {
  const headers = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin', 'Content-Length': 0 };
  response.writeHead(303, { Location: location, ...headers });
  response.end();
}
