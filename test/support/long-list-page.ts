import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { until } from './until.ts';

export const COUNT = 10_000;
/** Of the page of a list, however long it is. */
const MOST_NODES = 2500;

/** The rows of a table, as far as they are drawn. */
export const ROWS = 'tbody tr[aria-rowindex]';

export const titleOf = (n: number) => `row-${String(n).padStart(5, '0')}`;

export async function requireFewNodes(page: Page): Promise<void> {
  assert.ok((await page.locator('*').count()) < MOST_NODES);
}

/** Scrolls until the row of this number is loaded. */
export async function scrollToRow(page: Page, row: number): Promise<void> {
  const last = page.locator(ROWS).last();
  await last.waitFor();
  await until(async () => {
    if (Number(await last.getAttribute('aria-rowindex')) >= row) return true;
    await scrollToEnd(page, ROWS);
    return false;
  });
}

/** Scrolls whatever holds them to the last of the elements, and below it. */
export async function scrollToEnd(page: Page, selector: string): Promise<void> {
  await page.evaluate(
    `{ const last = [...document.querySelectorAll(${JSON.stringify(selector)})].at(-1); last?.scrollIntoView(); for (let box = last; box; box = box.parentElement) box.scrollTop = box.scrollHeight; }`,
  );
}

/** Finds a row that is loaded by what is typed. Lists that no tool searches are looked through in steps. */
export async function findLoadedRow(page: Page, table = ''): Promise<void> {
  const rows = page.locator(`${table} ${ROWS}`);
  const [found] = /row-\d{5}/.exec((await rows.last().textContent()) ?? '') ?? [];
  assert.ok(found);
  await page.getByRole('searchbox').last().fill(found);
  await until(async () => (await rows.count()) === 1);
  await rows.getByText(found).first().waitFor();
  await requireFewNodes(page);
}
