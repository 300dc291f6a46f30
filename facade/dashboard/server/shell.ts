import { Html, html } from '../../http/html.ts';
import type { Boot } from '../boot-data.ts';
import type { EntryFiles } from './build.ts';

/** Nothing but our own files, no inline script or style, and no text that becomes markup or script. */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "img-src 'self' blob:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

export type ShellInput = Readonly<{ path: string; theme: 'light' | 'dark' | undefined }>;

/** The page of every path. It shows its frame at once, and what is in it when the script has run. */
export function shell(boot: Boot, beginning: EntryFiles, { path, theme }: ShellInput): string {
  const asset = (name: string) => `${boot.base}/assets/${name}`;
  const isHome = path === '/';
  const scripts = [...beginning.chunks, ...pageScripts(path, beginning)];
  const page = html`<!doctype html>
<html lang="en"${theme && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${boot.workspace}</title>
<script type="application/json" id="boot">${new Html(JSON.stringify(boot).replaceAll('<', '\\u003c'))}</script>
${isHome && html`<script async fetchpriority="high" src="${asset(beginning.begin)}"></script>`}
<link rel="icon" type="image/svg+xml" href="${asset(beginning.icon)}">
<link rel="preload" as="font" type="font/woff2" href="${asset(beginning.font)}" crossorigin>
<link rel="stylesheet" href="${asset(beginning.style)}">
${scripts.map((name) => html`<link rel="modulepreload" href="${asset(name)}">`)}
<script type="module" src="${asset(beginning.script)}"></script>
</head>
<body>
<div id="app">${frame(boot)}</div>
</body>
</html>
`;
  return page.text;
}

/** A page below `/agents` is in the file `agents`. */
function pageScripts(path: string, { pages }: EntryFiles): readonly string[] {
  const [, name = ''] = path.split('/');
  return pages[name === '' ? 'home' : name] ?? [];
}

/** The frame as the script draws it again, so that nothing moves when it does. */
function frame(boot: Boot): Html {
  const { workspace } = boot;
  return html`<div class="layout"><div class="side"><div class="brand"><span class="brand-mark">${[...workspace][0]?.toUpperCase()}</span><span class="brand-name">${workspace}</span></div></div><div class="content"><main class="page" aria-busy="true"><div class="waiting"></div>${withoutScript(boot)}</main></div></div>`;
}

/** Appears where the script does not replace it within a few seconds. */
function withoutScript({ base, formToken, user }: Boot): Html {
  return html`<div class="late"><p>The dashboard needs JavaScript. You are signed in as <strong>${user.email}</strong>. If JavaScript is on, <a href="">load the page again</a>.</p>
<form method="post" action="${base}/sign-out"><input type="hidden" name="form" value="${formToken}"><button class="button">Sign out</button></form></div>`;
}
