import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, inPage, PHONE, testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';

const heads = (page: Page) => page.getByRole('columnheader').filter({ hasText: /./ }).allTextContents();

// together: one browser
describe('views of lists in the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer());
  const { call, visit, inWindow } = dashboard;

  it('shows the columns that were chosen, in the address and when one comes back, and kept views by name', async () => {
    const { id } = await call('create_agent', { name: 'ada', displayName: 'Ada' });
    await call('update_agent', { id, status: 'paused' });
    await call('create_agent', { name: 'bob', displayName: 'Bob', maxSteps: 7 });
    await inWindow(
      async (page, window) => {
        await window.open('/agents');
        const rows = page.getByRole('table', { name: 'agents' }).locator('tbody tr');
        await rows.nth(1).waitFor();
        assert.deepEqual(await heads(page), ['Name', 'Status', 'Changed']);
        const view = page.getByRole('button', { name: 'View', exact: true });
        await view.click();
        await page.getByRole('checkbox', { name: 'Max. turns' }).check();
        await page.getByRole('checkbox', { name: 'Changed' }).uncheck();
        assert.deepEqual(await heads(page), ['Name', 'Status', 'Max. turns']);
        assert.deepEqual(await findingsOf(page), []);
        await page.keyboard.press('Escape');
        await page.getByLabel('Status', { exact: true }).selectOption('paused');
        await page.getByText('Bob').waitFor({ state: 'detached' });
        const address = page.url();
        await view.click();
        await page.getByLabel('Name of this view').fill('At rest');
        await page.getByRole('button', { name: 'Keep' }).click();
        await page.keyboard.press('Escape');
        // Back takes the filter away, and then the columns one by one.
        await page.goBack();
        await page.getByText('Bob').waitFor();
        assert.deepEqual(await heads(page), ['Name', 'Status', 'Max. turns']);
        await window.open('/agents');
        await rows.nth(1).waitFor();
        assert.deepEqual(await heads(page), ['Name', 'Status', 'Max. turns']);
        await view.click();
        await page.getByRole('button', { name: 'At rest', exact: true }).click();
        await page.getByText('Bob').waitFor({ state: 'detached' });
        assert.equal(new URL(page.url()).searchParams.get('status'), 'paused');
        assert.deepEqual(
          [...new URL(page.url()).searchParams].sort(),
          [...new URL(address).searchParams].sort(),
          'the address is the view',
        );
      },
      { fresh: true },
    );
    await visit('/agents?status=paused&columns=max-steps,maxSteps', async (page) => {
      await page.getByText('Ada').waitFor();
      assert.deepEqual(await heads(page), ['Name', 'Max. turns']);
    });
  });

  it('folds the filters on a phone, says how many are set, and shows the status in each row', async () => {
    await visit({ path: '/agents?status=active', viewport: PHONE }, async (page) => {
      await page.getByRole('row', { name: /Bob/ }).getByText('Active').waitFor();
      assert.ok(await page.getByRole('row', { name: /Bob/ }).getByText('Active').isVisible());
      const status = page.getByLabel('Status', { exact: true });
      assert.equal(await status.isVisible(), false);
      await page.getByRole('button', { name: 'Filters (1)' }).click();
      await status.selectOption('');
      await page.getByText('Ada').waitFor();
      assert.ok(await page.evaluate(inPage.fits));
      assert.deepEqual(await findingsOf(page), []);
    });
  });

  it('sorts a list by the heads of its columns, which the address and kept views say, and on a phone by a choice', async () => {
    for (const name of ['Zürich', 'ålborg', 'Bergen']) await call('create_project', { name });
    const shows = (page: Page, ...names: readonly string[]) =>
      until(async () => (await page.locator('.list-pane tbody .name-title').allTextContents()).join() === names.join());
    await visit('/projects', async (page) => {
      const head = page.getByRole('columnheader', { name: 'Name' });
      await shows(page, 'Bergen', 'ålborg', 'Zürich');
      assert.equal(await head.getAttribute('aria-sort'), null);
      await head.getByRole('button', { name: 'Name' }).click();
      await shows(page, 'ålborg', 'Bergen', 'Zürich');
      assert.equal(await head.getAttribute('aria-sort'), 'ascending');
      await head.getByRole('button', { name: 'Name' }).click();
      await shows(page, 'Zürich', 'Bergen', 'ålborg');
      assert.equal(new URL(page.url()).searchParams.get('by'), '-name');
      assert.equal(await page.getByLabel('Sort by').isVisible(), false);
      assert.deepEqual(await findingsOf(page), []);
      // A record that is opened beside the list, and one that is renamed, leave the order as it is.
      await page.getByRole('link', { name: 'Bergen' }).click();
      await page.getByRole('heading', { name: 'Bergen' }).waitFor();
      await shows(page, 'Zürich', 'Bergen', 'ålborg');
      const { data } = await call('list_projects', { name: 'Bergen' });
      await call('update_project', { id: data[0].id, name: 'Zwolle' });
      await shows(page, 'Zwolle', 'Zürich', 'ålborg');
      await head.getByRole('button', { name: 'Name' }).click();
      await shows(page, 'Zwolle', 'ålborg', 'Zürich');
      assert.equal(new URL(page.url()).searchParams.get('by'), null);
    });
    await visit({ path: '/projects', viewport: PHONE }, async (page) => {
      await shows(page, 'Zwolle', 'ålborg', 'Zürich');
      await page.getByRole('button', { name: 'Filters' }).click();
      await page.getByLabel('Sort by').selectOption('Name, A to Z');
      await shows(page, 'ålborg', 'Zürich', 'Zwolle');
      assert.ok(await page.evaluate(inPage.fits));
      assert.deepEqual(await findingsOf(page), []);
    });
    await visit('/projects?by=-createdAt&columns=status', async (page) => {
      await page.getByLabel('Sort by').waitFor();
      await shows(page, 'Zwolle', 'ålborg', 'Zürich');
    });
  });

  it('gives what is found by words in memories its rank, whatever the address says', async () => {
    for (const content of ['Rain in Oslo', 'Sun in Narvik']) await call('create_memory', { content });
    await visit('/memory?by=updatedAt&q=rain', async (page) => {
      await page.getByText('Rain in Oslo').waitFor();
      await page.getByText('Sun in Narvik').waitFor({ state: 'detached' });
      assert.equal(await page.getByRole('alert').count(), 0);
      await page.getByRole('searchbox').first().fill('');
      await page.getByText('Sun in Narvik').waitFor();
    });
  });

  it('sorts the records of a database by the server, which the address says', async () => {
    const columns = [
      { name: 'Port', type: 'string' },
      { name: 'Depth', type: 'number' },
      { name: 'More', type: 'json' },
    ];
    const { id: databaseId } = await call('create_database', { name: 'Ports', columns });
    for (const [Port, Depth] of [
      ['Oslo', 12],
      ['Bergen', 30],
      ['Narvik', 21],
    ] as const)
      await call('create_record', { databaseId, values: { Port, Depth } });
    await visit(`/databases/${databaseId}`, async (page) => {
      const table = page.getByRole('table', { name: 'Records' });
      const first = page.locator('.grid tbody tr td:first-child');
      const shows = (...ports: readonly string[]) =>
        until(async () => (await first.allTextContents()).join() === ports.join());
      await shows('Narvik', 'Bergen', 'Oslo');
      assert.equal(await table.getByRole('button', { name: 'More' }).count(), 0, 'JSON has no order');
      await table.getByRole('button', { name: 'Depth' }).click();
      await shows('Oslo', 'Narvik', 'Bergen');
      await table.getByRole('button', { name: 'Depth' }).click();
      await shows('Bergen', 'Narvik', 'Oslo');
      assert.equal(await table.getByRole('columnheader', { name: 'Depth' }).getAttribute('aria-sort'), 'descending');
      assert.match(page.url(), /sort=Depth&order=desc/);
      assert.deepEqual(await findingsOf(page), []);
      await page.goBack();
      await shows('Oslo', 'Narvik', 'Bergen');
    });
  });
});
