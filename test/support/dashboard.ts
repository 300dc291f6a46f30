import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { fillDemo } from '../../facade/demo/fill.ts';
import { DemoClock } from '../../facade/demo/workspace.ts';
import { mustCall } from './calls.ts';
import { startBrowser } from './chromium.ts';
import { startTestServer, type TestServer } from './server.ts';
import { signIn } from './sign-in.ts';

/** A server with the demo workspace, which is called Sitewell and belongs to admin@localhost. */
export async function startDemoServer(env: Record<string, string> = {}): Promise<TestServer> {
  const clock = new DemoClock();
  let key: string | undefined;
  const server = await startTestServer(
    { LOG_LEVEL: 'info', ...env },
    async (store) => {
      const { made } = await fillDemo(store, clock, { adminEmail: 'admin@localhost', bootstrapKey: undefined });
      key = made?.admin;
    },
    undefined,
    undefined,
    clock,
  );
  return { ...server, adminKey: key ?? '' };
}

/** A server and a browser for the tests of a file, which both end with them. */
export interface TestDashboard {
  readonly server: TestServer;
  readonly browser: Browser;
  /** Calls a tool with full access. */
  call(tool: string, input?: object): ReturnType<typeof mustCall>;
  /** A window for the time of a test, in which nothing may be complained of. */
  inWindow(work: (page: Page, window: DashboardWindow) => Promise<void>, options?: WindowOptions): Promise<void>;
}

/** Called within `describe`: server and browser are there in its tests. `start` gives another server than one with the demo workspace. */
export function testDashboard(start: () => Promise<TestServer> = startDemoServer): TestDashboard {
  let started: { readonly server: TestServer; readonly browser: Browser } | undefined;
  const there = () => {
    assert.ok(started, 'The server is there in the tests only.');
    return started;
  };
  before(async () => {
    const [server, browser] = await Promise.all([start(), startBrowser()]);
    started = { server, browser };
  });
  after(async () => {
    await started?.browser.close();
    await started?.server.close();
  });
  return {
    get server() {
      return there().server;
    },
    get browser() {
      return there().browser;
    },
    call: (tool, input = {}) => mustCall(there().server, there().server.adminKey, tool, input),
    async inWindow(work, options = {}) {
      const window = await openDashboard(there().browser, there().server, options);
      try {
        await work(window.page, window);
        assert.deepEqual(window.complaints, []);
      } finally {
        await window.close();
      }
    },
  };
}

/** Pages of one signed-in person, and what was wrong in them. */
export interface DashboardWindow {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Violations of the policy, errors of scripts, and whatever else the browser complained of. */
  readonly complaints: readonly string[];
  /** Opens a path and waits until nothing is on its way any more. */
  open(path: string): Promise<void>;
  /** The same from a page that is open, as a link does it. */
  go(path: string): Promise<void>;
  close(): Promise<void>;
}

export interface WindowOptions extends BrowserContextOptions {
  readonly email?: string;
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

/** Signs in and opens a window on the dashboard. */
export async function openDashboard(
  browser: Browser,
  server: Pick<TestServer, 'baseUrl' | 'adminKey'>,
  { email, fresh = false, ...options }: WindowOptions = {},
): Promise<DashboardWindow> {
  const context = await browser.newContext({ viewport: WIDE, ...options });
  const [name = '', value = ''] = (await cookieFor(server, email, fresh)).split('=');
  await context.addCookies([{ name, value, url: server.baseUrl, httpOnly: true, sameSite: 'Lax' }]);
  const complaints: string[] = [];
  context.on('console', (message) => {
    const isRefusal = message.text().startsWith('Failed to load resource'); // a call that the page asked for was refused
    if (/^(error|warning)$/.test(message.type()) && !isRefusal) complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(error.error().message));
  const page = await context.newPage();
  return {
    context,
    page,
    complaints,
    async open(path) {
      await page.goto(`${server.baseUrl}${path}`);
      await settled(page);
    },
    async go(path) {
      await page.evaluate((to) => {
        const { history, dispatchEvent } = globalThis as unknown as BrowserGlobals; // in the page
        history.pushState(null, '', to);
        dispatchEvent(new Event('popstate'));
      }, path);
      await settled(page);
    },
    close: () => context.close(),
  };
}

interface BrowserGlobals {
  readonly history: { pushState(state: null, unused: '', to: string): void };
  dispatchEvent(event: Event): void;
}

const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

/** Waits until the page shows what it asked for. Its stream of changes never ends, so silence of the network is no sign. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main:not([aria-busy])').waitFor();
  await page.waitForFunction(() => {
    const { document } = globalThis as unknown as { document: { querySelector(selector: string): unknown } }; // in the page
    return !document.querySelector('.waiting, .skeleton, [aria-busy="true"]');
  });
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

/**
 * Pictures of a path at both widths in light and dark, in a folder of the system's temporary folder (`SHOTS` names another). For people
 * to look at; nothing is compared.
 */
export async function takeShots(
  browser: Browser,
  server: Pick<TestServer, 'baseUrl' | 'adminKey'>,
  paths: Readonly<Record<string, string>>,
  prepare?: (page: Page, name: string) => Promise<void>,
): Promise<string> {
  const folder = process.env.SHOTS ?? join(tmpdir(), 'agent-admin-shots');
  mkdirSync(folder, { recursive: true });
  for (const [width, viewport] of [['1440', WIDE] as const, ['390', PHONE] as const]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const window = await openDashboard(browser, server, { viewport, colorScheme });
      for (const [name, path] of Object.entries(paths)) {
        await window.open(path);
        await prepare?.(window.page, name);
        await window.page.screenshot({
          path: join(folder, `${name}-${width}-${colorScheme}.png`),
          fullPage: width === '390',
        });
      }
      assert.deepEqual(window.complaints, []);
      await window.close();
    }
  }
  return folder;
}
