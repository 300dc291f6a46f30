import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Store } from '../../../store/port.ts';
import { agentRecord } from '../../store/records.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';

const COUNT = 10_000;
/** Of the page of a list, however long it is. */
const MOST_NODES = 2500;

async function fill(store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    const made = Array.from({ length: COUNT }, (_, n) =>
      agentRecord(`agent-${n}`, { status: n % 10 === 0 ? 'paused' : 'active' }),
    );
    await tx.agents.insertAll(made);
  });
}

const selected = (page: Page) => page.getByRole('group', { name: 'Selected agents' });

// together: one browser
describe('a list of 10,000 records in the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer({ RATE_LIMIT_PER_MINUTE: '0' }, { fill }));
  const { call, visit } = dashboard;

  it('is scrolled, filtered and selected as a whole, with few rows drawn, and changed in part', async () => {
    await visit('/agents', async (page) => {
      await page
        .getByText(/^10,000$/)
        .first()
        .waitFor();
      const last = page.locator('tbody tr[aria-rowindex]').last();
      while (Number(await last.getAttribute('aria-rowindex')) < 1000) {
        await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
        await page.waitForTimeout(20);
      }
      assert.ok((await page.locator('*').count()) < MOST_NODES);
      await last.getByRole('checkbox').check();
      await selected(page).getByRole('button', { name: 'Select all 10,000 that match' }).click();
      await selected(page).getByText('10,000 selected').waitFor();
      assert.ok((await page.locator('*').count()) < MOST_NODES);
      // Another filter is another list: nothing of the former one stays selected.
      await page.evaluate('scrollTo(0, 0)');
      await page.getByLabel('Status', { exact: true }).selectOption('paused');
      await page
        .getByText(/^1,000$/)
        .first()
        .waitFor();
      assert.equal(await selected(page).count(), 0);
      const boxes = page.getByRole('checkbox', { name: /^Select agent-/ });
      await boxes.first().check();
      await boxes.nth(59).click({ modifiers: ['Shift'] });
      await selected(page).getByText('60 selected').waitFor();
      await selected(page).getByLabel('Set status').selectOption('active');
      await page.getByText('60 agents set to active.').waitFor();
      await page.getByText(/^940$/).first().waitFor();
    });
    assert.equal(
      (await call('list_agents', { status: 'paused', limit: 1, includeTotal: true })).total,
      COUNT / 10 - 60,
    );
  });
});
