import { existsSync } from 'node:fs';
import { closedAtEnd } from './at-end.ts';
import { inPage } from './dashboard.ts';
import { judgeModule, judgesLack } from './judges.ts';
import type { TestServer } from './server.ts';
import { until } from './until.ts';

const USUAL_PLACES = [
  '/usr/bin/firefox-esr',
  '/usr/bin/firefox',
  '/snap/bin/firefox',
  '/Applications/Firefox.app/Contents/MacOS/firefox',
];

/** Where a Firefox is on this machine: `FIREFOX_PATH`, or one of the usual places. */
const firefoxPath = process.env.FIREFOX_PATH ?? USUAL_PLACES.find((path) => existsSync(path));

/** For tests that need it: false, or why they do not run. */
export const withoutFirefox: string | false =
  firefoxPath === undefined
    ? 'there is no Firefox on this machine; install one, or say where it is in FIREFOX_PATH'
    : (judgesLack('puppeteer-core') ?? false);

/** What is used of the pages of `puppeteer-core`, whose types are there only where it is installed. */
interface PuppeteerPage {
  goto(url: string): Promise<unknown>;
  url(): string;
  setViewport(size: { readonly width: number; readonly height: number }): Promise<void>;
  evaluate(source: string): Promise<unknown>;
  locator(selector: string): PuppeteerLocator;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  on(event: 'console', hear: (message: { type(): string; text(): string }) => void): void;
  on(event: 'pageerror', hear: (error: Error) => void): void;
  on(event: 'requestfailed', hear: (request: PuppeteerRequest) => void): void;
  on(event: 'response', hear: (response: PuppeteerResponse) => void): void;
}

interface PuppeteerLocator {
  setTimeout(ms: number): PuppeteerLocator;
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  wait(): Promise<unknown>;
}

interface PuppeteerRequest {
  url(): string;
  method(): string;
  failure(): { readonly errorText: string } | null;
}

interface PuppeteerResponse {
  url(): string;
  status(): number;
}

/** A window of Firefox, and what was wrong in it. */
export interface FirefoxWindow {
  readonly page: PuppeteerPage;
  /** Errors of scripts, violations of the policy, and requests that failed or were refused. */
  readonly complaints: readonly string[];
  /** Opens a path and waits until the page shows what it asked for. */
  open(path: string): Promise<void>;
  /** The same from a page that is open, as a link does it. */
  go(path: string): Promise<void>;
  /** An element by what it is for people. */
  the(role: string, name: string): PuppeteerLocator;
  /** The control of a form with this label. */
  field(label: string): PuppeteerLocator;
  /** Waits for a text in the page. */
  shows(text: string): Promise<void>;
  /** Waits until the path is so. */
  isAt(path: RegExp): Promise<void>;
}

/** Far longer than anything takes on a busy machine: it only ends what would never come to hold. */
const LIMIT_MS = 60_000;

/** Starts Firefox for the time of the test file, with one window. */
export async function openFirefox({ baseUrl }: Pick<TestServer, 'baseUrl'>): Promise<FirefoxWindow> {
  const { default: puppeteer } = await import(judgeModule('puppeteer-core'));
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath: firefoxPath, headless: true });
  closedAtEnd(() => browser.close());
  const page: PuppeteerPage = await browser.newPage();
  const complaints = complaintsOf(page);
  const settled = () => until(async () => (await page.evaluate(inPage.isSettled)) === true);
  return {
    page,
    complaints,
    async open(path) {
      await page.goto(`${baseUrl}${path}`);
      await settled();
    },
    async go(path) {
      await page.evaluate(inPage.go(path));
      await settled();
    },
    the: (role, name) => page.locator(`::-p-aria([name="${name}"][role="${role}"])`).setTimeout(LIMIT_MS),
    field: (label) =>
      page
        .locator(
          `::-p-xpath((//dialog[@open] | //body[not(.//dialog[@open])])//*[@id = //label[span[. = "${label}"]]/@for])`,
        )
        .setTimeout(LIMIT_MS),
    async shows(text) {
      await page.locator(`::-p-text(${text})`).setTimeout(LIMIT_MS).wait();
    },
    isAt: (path) => until(() => path.test(new URL(page.url()).pathname)),
  };
}

function complaintsOf(page: PuppeteerPage): readonly string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (/^(error|warn)/.test(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  page.on('requestfailed', (request) => {
    const { errorText } = request.failure() ?? { errorText: '' };
    // A page that is left ends what it asked for.
    if (!/ABORT/i.test(errorText)) complaints.push(`${request.method()} ${request.url()}: ${errorText}`);
  });
  return complaints;
}
