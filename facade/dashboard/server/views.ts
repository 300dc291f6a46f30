import { join } from 'node:path';
import type { BuildOptions, Plugin } from 'esbuild';
import { VIEWS, type View } from '../../../tools/core/registry/tool.ts';

/** The pages for hosts, each complete but for what it is told of its reader. */
export type BuiltViews = Readonly<Record<View, string>>;

/** Where `viewWith` writes what the page is told. */
const BOOT = '<!--boot-->';

/** What esbuild is told of the pages: one script and one style sheet for each. `sources`: the folder of the dashboard. */
export function viewOptions(sources: string): BuildOptions & { write: false } {
  return {
    entryPoints: Object.fromEntries(VIEWS.map((view) => [view, `${sources}views/${view}.tsx`])),
    outdir: 'views',
    bundle: true,
    format: 'iife',
    target: 'es2022',
    minify: true,
    write: false,
    plugins: [inHost(sources)],
    legalComments: 'none',
    logLevel: 'error',
  };
}

/** In a host, `views/host.ts` replaces the modules that talk to the server or the browser. */
function inHost(sources: string): Plugin {
  return {
    name: 'in-host',
    setup({ onResolve }) {
      onResolve({ filter: REPLACED }, ({ path, resolveDir }) => {
        const [, name] = REPLACED.exec(path) ?? [];
        return join(resolveDir, path) === `${sources}${name}.ts` ? { path: `${sources}views/host.ts` } : undefined;
      });
    },
  };
}

const REPLACED = /\/(transport|router|tools|tabs|identity)\.ts$/;

/** The pages, from what esbuild wrote. */
export function viewsOf(files: readonly { readonly path: string; readonly text: string }[]): BuiltViews {
  const textOf = (name: string) => files.find(({ path }) => path.endsWith(`/${name}`))?.text ?? '';
  const pages = VIEWS.map((view) => [view, pageOf(view, textOf(`${view}.js`), textOf(`${view}.css`))] as const);
  return Object.fromEntries(pages) as BuiltViews; // of all views
}

function pageOf(view: View, script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${view}</title>
<style>${style.replaceAll(/<\/(?=style)/gi, '<\\/')}</style>
</head>
<body>
<div id="app"></div>
${BOOT}
<script>${script.replaceAll(/<(?=\/script|!--)/gi, '\\x3c')}</script>
</body>
</html>
`;
}

/** The whole page. */
export function viewWith(page: string, boot: object): string {
  const json = JSON.stringify(boot).replaceAll('<', '\\u003c');
  return page.replace(BOOT, () => `<script type="application/json" id="boot">${json}</script>`);
}
