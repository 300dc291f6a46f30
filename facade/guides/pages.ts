import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Dashboard, Looks, Theme } from '../dashboard/server/dashboard.ts';
import { Html, html } from '../http/html.ts';
import type { Endpoint, RequestContext } from '../http/request-context.ts';
import { findGuide, type Guide, guides } from './guides.ts';

interface PagesOptions {
  readonly dashboard: Pick<Dashboard, 'looks' | 'themeOf'>;
  readonly baseUrl: string;
}

/** What the pages look like beside the style sheet of the dashboard. The policy allows it by its hash. */
const style = readFileSync(new URL('style.css', import.meta.url), 'utf8');
const STYLE_SOURCE = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'self' ${STYLE_SOURCE}`,
    "font-src 'self'",
    "img-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // A browser keeps the page and asks whether it is still the same. The cookie says whether it is light or dark.
  'Cache-Control': 'no-cache',
  Vary: 'Cookie',
};

/** Open to everybody: they hold no data of a workspace. Each is rendered when it is first asked for, so that no start waits for all of them. */
export function createGuidePages({ dashboard, baseUrl }: PagesOptions): readonly Endpoint[] {
  const base = new URL(baseUrl).pathname.replace(/\/$/, '');
  const rendered = new Map<string, Rendered>();

  async function send({ request, response }: RequestContext, shown: Shown): Promise<void> {
    const theme = dashboard.themeOf(request);
    const key = `${typeof shown === 'string' ? shown : `/${shown.name}`} ${theme}`;
    const { body, etag } = rendered.get(key) ?? (await render(shown, theme, { looks: await dashboard.looks(), base }));
    rendered.set(key, { body, etag });
    if (shown !== 'missing' && request.headers['if-none-match'] === etag) {
      response.writeHead(304, { ...HEADERS, ETag: etag }).end();
      return;
    }
    const status = shown === 'missing' ? 404 : 200;
    response.writeHead(status, { ...HEADERS, 'Content-Length': body.length, ETag: etag }).end(body);
  }

  return [
    { open: true, method: 'GET', path: '/guides', serve: (context) => send(context, 'index') },
    {
      open: true,
      method: 'GET',
      path: '/guides/{name}',
      serve: (context) => send(context, findGuide(context.parameters.name ?? '') ?? 'missing'),
    },
  ];
}

type Shown = Guide | 'index' | 'missing';

interface Rendered {
  readonly body: Buffer;
  readonly etag: string;
}

async function render(shown: Shown, theme: Theme, around: PageLook): Promise<Rendered> {
  const body = Buffer.from(documentOf(await pageOf(shown, around.base), theme, around).text);
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
}

const HOW_TO_READ = html`<p>A guide leads from a running server to a visible result; a reference page says what there is.</p>
<p>Commands are as in a checkout of the project. Where the package is installed, <code>npm run -s tool --</code> is <code>npx agent-admin tool</code>, and so for the others.</p>
`;

interface Page {
  readonly title: string;
  readonly main: Html;
  readonly current?: Guide;
}

async function pageOf(shown: Shown, base: string): Promise<Page> {
  if (shown === 'index') return { title: 'Help', main: html`<h1>Help</h1>\n${HOW_TO_READ}${indexOf(base)}` };
  if (shown === 'missing') {
    const main = html`<h1>There is no such page</h1>\n<p>These are here:</p>\n${indexOf(base)}`;
    return { title: 'Not found', main };
  }
  const { createRenderer } = await import('./render.ts');
  return { title: shown.title, main: createRenderer(base)(shown.markdown), current: shown };
}

interface PageLook {
  readonly looks: Looks;
  readonly base: string;
}

function documentOf({ title, main, current }: Page, theme: Theme, { looks, base }: PageLook): Html {
  const asset = (name: string) => `${base}/assets/${name}`;
  return html`<!doctype html>
<html lang="en"${theme && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · agent-admin</title>
<link rel="icon" type="image/svg+xml" href="${asset(looks.icon)}">
<link rel="preload" as="font" type="font/woff2" href="${asset(looks.font)}" crossorigin>
<link rel="stylesheet" href="${asset(looks.style)}">
<style>${new Html(style)}</style>
</head>
<body>
<header class="guides-bar">
<a class="brand" href="${base}/guides"><span class="brand-mark">A</span><span class="brand-name">agent-admin help</span></a>
<a class="button" href="${base}/">Dashboard</a>
</header>
<div class="guides">
<nav class="guides-nav" aria-label="All guides">
${sections().map(
  ([heading, listed]) => html`<div class="nav-group">
<h2 class="nav-title">${heading}</h2>
${listed.map(
  ({ name, title }) =>
    html`<a class="nav-link" href="${base}/guides/${name}"${name === current?.name && html` aria-current="page"`}>${title}</a>\n`,
)}</div>\n`,
)}</nav>
<main class="prose guide">
${main}
</main>
</div>
</body>
</html>
`;
}

function sections(): (readonly [string, readonly Guide[]])[] {
  const of = (kind: Guide['kind']) => guides.filter((guide) => guide.kind === kind);
  return (
    [
      ['Guides', of('guide')],
      ['Reference', of('reference')],
    ] as const
  ).filter(([, { length }]) => length > 0);
}

function indexOf(base: string): Html {
  return html`${sections().map(
    ([heading, listed]) => html`<h2>${heading}</h2>
<ul class="guides-list">
${listed.map(
  ({ name, title, summary }) =>
    html`<li><a href="${base}/guides/${name}"><strong>${title}</strong></a><span class="quiet">${summary}</span></li>\n`,
)}</ul>\n`,
  )}`;
}
