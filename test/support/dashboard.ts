import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, ConsoleMessage, Page, WebError } from 'playwright-core';
import { mustCall } from './calls.ts';
import { openBrowser } from './chromium.ts';
import { startDemoServer } from './demo.ts';
import type { TestServer } from './server.ts';
import { signIn } from './sign-in.ts';

/** A server for the tests of a file, which ends with them, and the browser of the process. */
export interface TestDashboard {
  readonly server: TestServer;
  readonly browser: Browser;
  /** Calls a tool with full access. */
  call(tool: string, input?: object): ReturnType<typeof mustCall>;
  /** A window for the time of a test, in which nothing may be complained of. */
  inWindow(work: InWindow, options?: WindowOptions): Promise<void>;
  /** The same on a path, which it begins with. */
  visit(to: string | (WindowOptions & { readonly path: string }), work: InWindow): Promise<void>;
}

type InWindow = (page: Page, window: DashboardWindow) => Promise<void>;

/** Called within `describe`: server and browser are there in its tests. `start` gives another server than one with the demo workspace. */
export function testDashboard(start: () => Promise<TestServer> = startDemoServer): TestDashboard {
  let started: { readonly server: TestServer; readonly browser: Browser } | undefined;
  const there = () => {
    assert.ok(started, 'The server is there in the tests only.');
    return started;
  };
  before(async () => {
    const [server, browser] = await Promise.all([start(), openBrowser()]);
    started = { server, browser };
  });
  after(async () => {
    await started?.server.close();
  });
  const inWindow = async (work: InWindow, options: WindowOptions = {}) => {
    const window = await openDashboard(there().browser, there().server, options);
    try {
      await work(window.page, window);
      assert.deepEqual(window.complaints, []);
    } catch (error) {
      // What the page complained of may be why it never came so far.
      if (error instanceof Error)
        error.message += `\nIts page: ${JSON.stringify([window.complaints, window.failures])}`;
      throw error;
    } finally {
      await window.close();
    }
  };
  return {
    get server() {
      return there().server;
    },
    get browser() {
      return there().browser;
    },
    call: (tool, input = {}) => mustCall(there().server, there().server.adminKey, tool, input),
    inWindow,
    visit(to, work) {
      const { path, ...options } = typeof to === 'string' ? { path: to } : to;
      return inWindow(async (page, window) => {
        await window.open(path);
        await work(page, window);
      }, options);
    },
  };
}

/** Pages of one signed-in person, and what was wrong in them. */
export interface DashboardWindow {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Violations of the policy, errors of scripts, and whatever else the browser complained of. */
  readonly complaints: readonly string[];
  /** Requests that got no answer, also of pages that were left. */
  readonly failures: readonly string[];
  /** Opens a path and waits until nothing is on its way any more. */
  open(path: string): Promise<void>;
  /** The same from a page that is open, as a link does it. */
  go(path: string): Promise<void>;
  close(): Promise<void>;
}

export interface WindowOptions extends BrowserContextOptions {
  readonly email?: string;
  /** Of somebody who signed in without the key of the test. */
  readonly cookie?: string;
  /** A session of its own, for a test that ends it. */
  readonly fresh?: boolean;
}

const cookies = new Map<string, string>();

/** One session of a person serves all windows, as signing in often is refused. */
async function cookieFor(server: Pick<TestServer, 'baseUrl' | 'adminKey'>, email: string | undefined, fresh: boolean) {
  const key = `${server.baseUrl} ${email}`;
  const kept = cookies.get(key);
  if (kept !== undefined && !fresh) return kept;
  const cookie = await signIn(server, email);
  if (!fresh) cookies.set(key, cookie);
  return cookie;
}

const contexts = new Map<string, BrowserContext>();

/** A person's windows of a file share what the browser keeps, as reading all scripts anew takes long. */
async function contextFor(
  browser: Browser,
  server: Pick<TestServer, 'baseUrl' | 'adminKey'>,
  { email, cookie, fresh = false, ...options }: WindowOptions,
): Promise<BrowserContext> {
  const key = `${server.baseUrl} ${email} ${cookie} ${JSON.stringify(options)}`;
  const kept = fresh ? undefined : contexts.get(key);
  if (kept) return kept;
  const context = await browser.newContext({ viewport: WIDE, ...options });
  const [name = '', value = ''] = (cookie ?? (await cookieFor(server, email, fresh))).split('=');
  await context.addCookies([{ name, value, url: server.baseUrl, httpOnly: true, sameSite: 'Lax' }]);
  if (!fresh) {
    contexts.set(key, context);
    context.once('close', () => contexts.delete(key));
  }
  return context;
}

/** Signs in and opens a window on the dashboard. */
export async function openDashboard(
  browser: Browser,
  server: Pick<TestServer, 'baseUrl' | 'adminKey'>,
  options: WindowOptions = {},
): Promise<DashboardWindow> {
  const context = await contextFor(browser, server, options);
  const others = new Set(context.pages());
  const complaints: string[] = [];
  const onConsole = (message: ConsoleMessage) => {
    const isRefusal = message.text().startsWith('Failed to load resource'); // a call that the page asked for was refused
    if (/^(error|warning)$/.test(message.type()) && !isRefusal) complaints.push(message.text());
  };
  const onError = (error: WebError) => complaints.push(error.error().message);
  context.on('console', onConsole).on('weberror', onError);
  const page = await context.newPage();
  const failures: string[] = [];
  page.on('requestfailed', (request) => failures.push(`${request.url()} ${request.failure()?.errorText}`));
  return {
    context,
    page,
    complaints,
    failures,
    async open(path) {
      await page.goto(`${server.baseUrl}${path}`);
      await settled(page);
    },
    async go(path) {
      await page.evaluate(inPage.go(path));
      await settled(page);
    },
    async close() {
      context.off('console', onConsole).off('weberror', onError);
      if (options.fresh) await context.close();
      else await Promise.all(context.pages().map((own) => others.has(own) || own.close()));
    },
  };
}

export const WIDE = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

const SHOWN = 'main:not([aria-busy])';
const WAITING = '.waiting, .skeleton, [aria-busy="true"]';

/** What is run in a page, whichever browser shows it. */
export const inPage = {
  isSettled: `document.querySelector('${SHOWN}') !== null && document.querySelector('${WAITING}') === null`,
  fits: 'document.documentElement.scrollWidth <= innerWidth',
  paths: `[...document.querySelectorAll('.nav-link')].map((link) => link.getAttribute('href'))`,
  errors: `[...document.querySelectorAll('.error-box')].map((box) => box.textContent)`,
  /** Done when the page is drawn, and has asked for what it shows. */
  go: (path: string) =>
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new Event('popstate')); new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))`,
};

/** Waits until the page shows what it asked for. Its stream of changes never ends, so silence of the network is no sign. */
export async function settled(page: Page): Promise<void> {
  await page.locator(SHOWN).waitFor();
  await page.waitForFunction((selector) => {
    const { document } = globalThis as unknown as { document: { querySelector(selector: string): unknown } }; // in the page
    return !document.querySelector(selector);
  }, WAITING);
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds on the page. Its source is run by the debugger, which the policy of the page does not concern. */
export async function findingsOf(page: Pick<Page, 'evaluate'>): Promise<string[]> {
  await page.evaluate(axeSource);
  // What passes is counted only, as naming all of it takes longer than finding out.
  const { violations } = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as AxeResults; // as axe documents
  return violations.map(({ id, impact, nodes }) => `${impact}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}
