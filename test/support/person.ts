import type { Page } from 'playwright-core';
import { type DashboardWindow, settled } from './dashboard.ts';
import type { FirefoxWindow } from './firefox.ts';
import { until } from './until.ts';

/** Somebody in front of a browser, whichever it is. What they press and fill in is counted. */
export interface Person {
  /** Presses and fields since the journey began. */
  readonly steps: number;
  /** Begins a journey on a page, which counts nothing. */
  begin(path: string): Promise<void>;
  press(role: string, name: string): Promise<void>;
  /** Presses what a selector of CSS finds first. */
  pressAt(selector: string): Promise<void>;
  /** Presses a text within what a selector of CSS finds. */
  pressIn(selector: string, text: string): Promise<void>;
  /** Fills the control with this label, or this role and name. */
  fill(label: string, text: string, role?: string): Promise<void>;
  key(key: string): Promise<void>;
  /** Waits for a text in the page. */
  shows(text: string): Promise<void>;
  isAt(path: RegExp): Promise<void>;
  /** The text of what a selector of CSS finds last. */
  textOf(selector: string): Promise<string>;
}

class Steps {
  count = 0;
}

/** In Chromium. */
export function inChromium({ page, open }: Pick<DashboardWindow, 'page' | 'open'>): Person {
  const steps = new Steps();
  /** A dialog that is open lets nothing else be reached. */
  const reachable = page.locator('dialog[open], body:not(:has(dialog[open]))').last();
  const one = (role: string, name: string) =>
    reachable.getByRole(role as Parameters<Page['getByRole']>[0], { name, exact: true }).first();
  const labelled = (label: string) => reachable.locator(`xpath=.//*[@id = //label[span[. = "${label}"]]/@for]`).first();
  return {
    get steps() {
      return steps.count;
    },
    async begin(path) {
      await open(path);
      steps.count = 0;
    },
    async press(role, name) {
      steps.count += 1;
      // The circle of a radio button is drawn by its label.
      await one(role, name).click({ force: role === 'radio' });
    },
    async pressAt(selector) {
      steps.count += 1;
      await page.locator(selector).first().click();
    },
    async pressIn(selector, text) {
      steps.count += 1;
      await page.locator(selector).getByText(text).first().click();
    },
    async fill(label, text, role) {
      steps.count += 1;
      const control = role === undefined ? labelled(label) : one(role, label);
      if (await control.evaluate((element) => element.tagName === 'SELECT')) await control.selectOption(text);
      else await control.fill(text);
    },
    async key(key) {
      steps.count += 1;
      await page.keyboard.press(key);
    },
    async shows(text) {
      await page.getByText(text).filter({ visible: true }).first().waitFor();
    },
    async isAt(path) {
      await page.waitForURL((url) => path.test(url.pathname));
      await settled(page);
    },
    textOf: async (selector) => (await page.locator(selector).last().textContent()) ?? '',
  };
}

/** In Firefox. */
export function inFirefox({ page, open, the, field, shows, isAt }: FirefoxWindow): Person {
  const steps = new Steps();
  return {
    get steps() {
      return steps.count;
    },
    async begin(path) {
      await open(path);
      steps.count = 0;
    },
    async press(role, name) {
      steps.count += 1;
      await the(role, name).click();
    },
    async pressAt(selector) {
      steps.count += 1;
      await page.locator(selector).click();
    },
    async pressIn(selector, text) {
      steps.count += 1;
      await page.locator(`${selector} ::-p-text(${text})`).click();
    },
    async fill(label, text, role) {
      steps.count += 1;
      await (role === undefined ? field(label) : the(role, label)).fill(text);
    },
    async key(key) {
      steps.count += 1;
      await page.keyboard.press(key);
    },
    shows,
    isAt,
    async textOf(selector) {
      const source = `[...document.querySelectorAll(${JSON.stringify(selector)})].at(-1)?.textContent ?? ''`;
      await until(async () => (await page.evaluate(source)) !== '');
      return String(await page.evaluate(source));
    },
  };
}
