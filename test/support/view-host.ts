import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, BrowserContextOptions, FrameLocator, Page } from 'playwright-core';
import { onLoopback } from './loopback.ts';

/** Serves the page of a host of MCP Apps on loopback. */
export interface ViewHost {
  /** Servers must let its pages in. */
  readonly origin: string;
  close(): Promise<void>;
}

export async function startViewHost(): Promise<ViewHost> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('view-host.js', import.meta.url))],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'error',
  });
  const server = createServer((request, response) => {
    const isScript = request.url === '/host.js';
    response.writeHead(200, { 'Content-Type': isScript ? 'text/javascript' : 'text/html' });
    response.end(isScript ? outputFiles[0]?.text : PAGE);
  });
  const { url: origin, close } = await onLoopback(server);
  return { origin, close };
}

const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">
<style>body { margin: 0; } iframe { display: block; width: 100%; height: 40px; border: 0; }</style></head>
<body><script type="module" src="/host.js"></script></body></html>`;

/** What a page asked of its host. */
export interface Asked {
  readonly calls: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[];
  readonly links: readonly string[];
  readonly messages: readonly unknown[];
  readonly heights: readonly number[];
}

export interface ShowOptions {
  readonly theme?: 'light' | 'dark';
  readonly variables?: Readonly<Record<string, string>>;
  /** The host passes on the text of answers alone. */
  readonly withoutStructure?: boolean;
  readonly capabilities?: object;
}

/** A host in a window of a browser. */
export interface HostWindow {
  readonly page: Page;
  /** The page of the tool whose answer is shown. */
  readonly view: FrameLocator;
  /** Violations of the policy, errors of scripts, and whatever else the browser complained of. */
  readonly complaints: readonly string[];
  show(tool: string, input: object, options?: ShowOptions): Promise<void>;
  asked(): Promise<Asked>;
  setTheme(theme: 'light' | 'dark'): Promise<void>;
  close(): Promise<void>;
}

/** Connects a host to the MCP endpoint, with a key or the token of a capsule. */
export async function openHost(
  browser: Browser,
  { origin }: ViewHost,
  told: { readonly url: string; readonly token: string },
  options: BrowserContextOptions = {},
): Promise<HostWindow> {
  const context = await browser.newContext({ viewport: { width: 760, height: 900 }, ...options });
  const complaints: string[] = [];
  context.on('console', (message) => {
    if (/^(error|warning)$/.test(message.type())) complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(error.error().message));
  const page = await context.newPage();
  await page.goto(`${origin}/#${encodeURIComponent(JSON.stringify(told))}`);
  await page.waitForFunction(() => 'host' in globalThis);
  const inHost = (code: string) => page.evaluate(code);
  return {
    page,
    view: page.frameLocator('iframe'),
    complaints,
    async show(tool, input, shown = {}) {
      await inHost(`host.show(${[tool, input, shown].map((each) => JSON.stringify(each)).join(', ')})`);
      await page.frameLocator('iframe').locator('main:not(:has(.skeleton, .waiting, [aria-busy="true"]))').waitFor();
    },
    asked: async () => (await inHost('host.asked')) as Asked, // as the script in the page keeps it
    async setTheme(theme) {
      await inHost(`host.setTheme(${JSON.stringify(theme)})`);
    },
    close: () => context.close(),
  };
}
