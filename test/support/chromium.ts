import { existsSync } from 'node:fs';
import type { Browser, BrowserContext } from 'playwright-core';
import { closedAfterLastFile, closedAtEnd } from './at-end.ts';

/** The shell first: it draws the same pages without a window, and takes a quarter less processor time. */
const USUAL_PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** Where a Chromium is on this machine: `CHROMIUM_PATH`, or one of the usual places. */
const chromiumPath = process.env.CHROMIUM_PATH ?? USUAL_PLACES.find((path) => existsSync(path));

/** For tests that need a browser: false, or why they do not run. */
export const withoutBrowser: string | false =
  chromiumPath === undefined &&
  'there is no Chromium on this machine; install one, or say where it is in CHROMIUM_PATH';

/**
 * The last list of these counts, so it has what Playwright switches off, too. The pages behind the address bar take 0.7 s of processor time
 * for each window.
 */
const WITHOUT = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];

/** Chromium draws without a graphics card, and without a process that stands in for one. */
const WITHOUT_GPU = ['--disable-gpu', '--disable-software-rasterizer', '--in-process-gpu'];

/** Far longer than anything takes on a busy machine: it only ends what would never come to hold. */
const LIMIT_MS = 120_000;

let running: Promise<Browser> | undefined;

/** The browser of this process, which runs until its last file has ended. The windows that a file leaves open are closed with it. */
export async function openBrowser(): Promise<Browser> {
  running ??= startBrowser();
  const browser = await running;
  closedAtEnd(() => Promise.all(browser.contexts().map((context) => context.close())));
  return browser;
}

async function startBrowser(): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  if (chromiumPath === undefined) throw new Error('There is no Chromium.');
  // As root, as in a container, Chromium cannot have its sandbox.
  const args = [
    `--disable-features=${WITHOUT.join()}`,
    ...WITHOUT_GPU,
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
  ];
  const browser = await chromium.launch({ executablePath: chromiumPath, args });
  browser.on('context', (context) => context.setDefaultTimeout(LIMIT_MS));
  closedAfterLastFile(() => browser.close());
  browser.once('disconnected', () => {
    running = undefined;
  });
  return browser;
}

/** What the browser complained of, but for the status of a page. */
export function complaintsOf(context: BrowserContext): string[] {
  const complaints: string[] = [];
  context.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(error.error().message));
  return complaints;
}
