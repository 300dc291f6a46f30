import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { closedAtEnd } from './at-end.ts';

const USUAL_PLACES = [
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

export async function startBrowser(): Promise<Browser> {
  const { chromium } = await import('playwright-core');
  if (chromiumPath === undefined) throw new Error('There is no Chromium.');
  // As root, as in a container, Chromium cannot have its sandbox.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: chromiumPath, args });
  closedAtEnd(() => browser.close());
  return browser;
}
