import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findingsOf, type TestDashboard } from '../../support/dashboard.ts';

/** Reports, metrics, settings and backups. */
export function workspaceJourneys(dashboard: TestDashboard): void {
  const { call, inWindow } = dashboard;

  it('says when a task is due as long as it is not done', async () => {
    await inWindow(async (page, window) => {
      await window.open('/tasks');
      const due = (column: string) => page.getByRole('region', { name: column }).getByText(/^due /).count();
      assert.deepEqual([(await due('Todo')) > 0, await due('Done')], [true, 0]);
    });
  });

  it('makes a report of a reading tool that is found by a search, with its arguments by their controls', async () => {
    await inWindow(async (page, window) => {
      await window.open('/reports/new');
      await page.getByLabel('Title').fill('Open tasks of today');
      const query = page.getByRole('group', { name: 'Query' });
      const tools = query.getByRole('region', { name: 'All tools' });
      await tools.getByRole('button', { name: /^List agents/ }).waitFor();
      assert.equal(await tools.getByRole('button', { name: /^(Create agent|Get report)/ }).count(), 0);
      await query.getByRole('searchbox', { name: 'Find tools' }).fill('list tasks');
      assert.deepEqual(await findingsOf(page), []);
      await page.keyboard.press('Enter');
      await query.getByText('list_tasks').waitFor();
      await query.getByRole('group', { name: 'Arguments' }).getByLabel('Status').selectOption('todo');
      await page.getByRole('button', { name: 'Create report' }).click();
      await page.getByRole('heading', { name: 'Open tasks of today' }).waitFor();
    });
    const { data } = await call('list_reports', { q: 'Open tasks of today' });
    assert.deepEqual(data[0].query, { tool: 'list_tasks', arguments: { status: 'todo' } });
    await call('delete_report', { id: data[0].id });
  });

  it('shows a metric beside the period before, as the address says, and hands it on', async () => {
    await inWindow(async (page, window) => {
      await window.open('/analytics?metric=get_mrr&span=90&interval=month');
      await page
        .locator('.headline-growth')
        .getByText(/from €/)
        .first()
        .waitFor();
      await page.locator('.legend').getByText('The period before').waitFor();
      assert.equal(await page.getByRole('radio', { name: 'Month' }).isChecked(), true);
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'CSV' }).click();
      const [head = '', ...lines] = (await (await (await download).createReadStream()).toArray())
        .join('')
        .trim()
        .split('\r\n');
      assert.ok(head.startsWith('from,') && head.includes('mrr'), head);
      assert.equal(
        lines.length,
        await page.getByRole('table', { name: 'Monthly recurring revenue' }).locator('tbody tr').count(),
      );
    });
  });

  it('says that two sections of the prompt have one name, and loses neither', async () => {
    const before = await call('get_bot_config');
    await inWindow(async (page, window) => {
      await window.open('/settings?tab=prompt');
      await page.getByLabel('Name of section 2').fill(Object.keys(before.promptSections)[0] ?? '');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('give one another name').waitFor();
    });
    assert.deepEqual((await call('get_bot_config')).promptSections, before.promptSections);
  });

  it('keeps exchange rates by currency, and adds months and currencies', async () => {
    const { exchangeRates: before } = await call('get_settings');
    await inWindow(
      async (page, window) => {
        await window.open('/settings');
        const rates = page.getByRole('group', { name: 'Exchange rates' });
        await rates.getByText(/USD .* 26 months/).click();
        assert.equal(await rates.getByRole('spinbutton').first().inputValue(), String(before.at(-1).rate));
        await rates.getByRole('spinbutton').first().fill('0.5');
        await rates.getByRole('button', { name: 'Add month' }).click();
        await rates.getByLabel('Another currency').fill('gbp');
        await page.keyboard.press('Enter');
        await rates.getByRole('spinbutton', { name: /^GBP in/ }).fill('1.15');
        assert.deepEqual(await findingsOf(page), []);
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('The settings are saved.').waitFor();
      },
      { viewport: { width: 390, height: 844 } },
    );
    const { exchangeRates: after, revision } = await call('get_settings');
    assert.deepEqual(
      after
        .slice(-3)
        .map(({ currency, rate }: { readonly currency: string; readonly rate: number }) => [currency, rate]),
      [
        ['USD', 0.5],
        ['USD', 0.5],
        ['GBP', 1.15],
      ],
    );
    assert.deepEqual(after.slice(0, -3), before.slice(0, -1));
    await call('update_settings', { exchangeRates: before, expectedRevision: revision });
  });

  it('makes a backup and shows it', async () => {
    await inWindow(
      async (page, window) => {
        await window.open('/backups');
        await page.getByText('No backup yet').waitFor();
        await page.getByRole('button', { name: 'Back up now' }).click();
        await page
          .getByRole('status')
          .getByText(/in a new backup, [\d,]+ records/)
          .waitFor();
        await page.getByRole('cell', { name: 'Verified' }).waitFor();
        const { data } = await call('list_backups');
        assert.deepEqual([data.length, data[0].verified], [1, true]);
        assert.deepEqual(await findingsOf(page), []);
        assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
      },
      { viewport: { width: 390, height: 844 } },
    );
  });
}
