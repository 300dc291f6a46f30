import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { findingsOf, type TestDashboard } from '../../support/dashboard.ts';

/** Versions of records, and what brings them back. */
export function versionsJourneys(dashboard: TestDashboard): void {
  const { call, visit } = dashboard;

  it('brings back an earlier version on the page of its record', async () => {
    const { id } = await call('create_skill', { name: 'tone', instructions: 'Be brief.' });
    await call('update_skill', { id, instructions: 'Be long.' });
    await visit(`/skills/${id}`, async (page) => {
      await page.getByRole('tab', { name: /^Versions/ }).click();
      await page.getByRole('button', { name: /^Revision 1/ }).click();
      await page.getByRole('button', { name: 'Restore', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
      await page.getByText('Revision 1 is back.').waitFor();
      await page.getByRole('button', { name: /^Revision 3/ }).waitFor();
      await page.getByRole('tab', { name: 'Overview' }).click();
      await page.getByText('Be brief.').waitFor();
    });
    assert.equal((await call('get_skill', { id })).instructions, 'Be brief.');
    await call('delete_skill', { id });
  });

  it('shows what changed in names and lines of text, not in ids and JSON', async () => {
    const [kept, gone] = [
      await call('create_skill', { name: 'greeting-people', instructions: 'Say hello.' }),
      await call('create_skill', { name: 'soon-gone', instructions: 'Nothing.' }),
    ];
    const { id } = await call('create_agent', { name: 'learner', displayName: 'Learner' });
    await call('update_agent', { id, skillIds: [kept.id, gone.id] });
    const [both] = (await call('list_versions', { entityType: 'agent', entityId: id })).data;
    await call('update_agent', { id, skillIds: [kept.id] });
    await call('delete_skill', { id: gone.id });
    const before = (await call('get_bot_config')).promptSections;
    await call('update_bot_config', { promptSections: { ...before, tone: 'Be friendly.\nBe "brief".' } });
    await visit(`/agents/${id}?tab=versions&version=${both.id}`, async (page, window) => {
      const skills = page.getByRole('region', { name: 'Skills' });
      await skills.getByRole('link', { name: 'greeting-people' }).waitFor();
      await skills.getByText(gone.id).waitFor();
      assert.equal(await skills.getByText(kept.id).count(), 0);
      await window.open('/settings?tab=history');
      const sections = page.getByRole('region', { name: 'Prompt sections' });
      assert.deepEqual(await sections.locator('ins').allTextContents(), ['tone', '  Be friendly.', '  Be "brief".']);
      assert.deepEqual(await findingsOf(page), []);
    });
    await call('update_bot_config', { promptSections: before });
    await call('delete_agent', { id });
    await call('delete_skill', { id: kept.id });
  });

  it('asks before a record of a database is deleted, and leads to its versions', async () => {
    const columns = [{ name: 'Company', type: 'string' }];
    const { id: databaseId } = await call('create_database', { name: 'Firms', columns });
    const { id } = await call('create_record', { databaseId, values: { Company: 'Okapi' } });
    await visit(`/databases/${databaseId}`, async (page) => {
      await page.getByRole('button', { name: `Open ${id}` }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await call('get_record', { databaseId, id });
      await page.getByRole('button', { name: 'Delete record' }).click();
      await page.getByRole('link', { name: 'Restore it' }).click();
      await page.waitForURL(`**/history/database-record/${id}`);
      await page.locator('.version').nth(1).waitFor();
    });
    await call('delete_database', { id: databaseId });
  });
}

const found = (page: Page) => page.getByRole('listbox', { name: 'Found' }).getByRole('option');

/** The palette, reports, metrics, settings and backups. */
export function workspaceJourneys(dashboard: TestDashboard): void {
  const { call, visit } = dashboard;

  it('finds by the palette what to do, by other words too, and forms for all that can be made', async () => {
    await visit('/', async (page) => {
      const type = async (words: string) => {
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: 'Find a page, a record, or what to do' }).fill(words);
        await found(page).first().waitFor();
        return found(page).locator('.palette-title').allTextContents();
      };
      assert.equal((await type('spends most'))[0], 'Usage');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/usage');
      assert.equal((await type('add colleague'))[0], 'Invite somebody');
      await page.keyboard.press('Escape');
      assert.equal((await type('cursor'))[0], 'Connect');
      await page.keyboard.press('Escape');
      for (const [words, title] of [
        ['log out', 'Sign out'],
        ['rotate', 'Keys'],
        ['approve', 'Approvals'],
        ['add provider', 'Add a provider'],
      ] as const) {
        assert.ok((await type(words)).includes(title), words);
        await page.keyboard.press('Escape');
      }
      await type('dark theme');
      await page.keyboard.press('Enter');
      await page.locator('html[data-theme="dark"]').waitFor();
      await type('system theme');
      await page.keyboard.press('Enter');
      await page.locator('html:not([data-theme])').waitFor();
      for (const kind of [
        'agent',
        'flow',
        'document',
        'database',
        'artifact',
        'webhook',
        'budget',
        'report',
        'memory',
      ]) {
        const title = `New ${kind}`;
        assert.ok((await type(title)).includes(title), title);
        await found(page).filter({ hasText: title }).first().click();
        await page.waitForURL('**/new');
        await page.getByRole('button', { name: 'Cancel' }).waitFor();
      }
    });
  });

  it('says when a task is due as long as it is not done', async () => {
    await visit('/tasks', async (page) => {
      const due = (column: string) => page.getByRole('region', { name: column }).getByText(/^due /).count();
      assert.deepEqual([(await due('Todo')) > 0, await due('Done')], [true, 0]);
    });
  });

  it('makes a report of a reading tool that is found by a search, with its arguments by their controls', async () => {
    await visit('/reports/new', async (page) => {
      await page.getByLabel('Title').fill('Open tasks of today');
      const query = page.getByRole('group', { name: 'What it asks' });
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
    await visit('/analytics?metric=get_mrr&span=90&interval=month', async (page) => {
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

  it('says of churn what the chart says: for a month, and how it was the month before', async () => {
    const { series } = await call('get_churn', { interval: 'month' });
    const whole = series.filter(({ complete }: { readonly complete: boolean }) => complete);
    const { customerChurn } = whole.at(-1);
    await visit('/analytics?metric=get_churn&interval=month', async (page) => {
      const tile = page.locator('.headline', { hasText: 'Customer churn a month' });
      const shown = Number.parseFloat((await tile.locator('.headline-number').textContent()) ?? '');
      assert.ok(Math.abs(shown - customerChurn * 100) < 0.06, `${shown}`);
      await page.getByText('Churn a month', { exact: true }).waitFor();
    });
  });

  it('keeps a setting, and shows those that nobody set as they count', async () => {
    await visit('/settings?tab=access', async (page) => {
      const asks = page.getByLabel('A person approves each mail that agents, flows and keys send');
      assert.equal(await asks.isChecked(), true);
      await page.getByLabel('Approvals expire after').fill('12');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The settings are saved.').waitFor();
    });
    const { approvalHours, mailAskFirst } = await call('get_settings');
    assert.deepEqual([approvalHours, mailAskFirst ?? true], [12, true]);
  });

  it('says that two sections of the prompt have one name, and loses neither', async () => {
    const before = await call('get_bot_config');
    await visit('/settings?tab=prompt', async (page) => {
      await page.getByLabel('Name of section 2').fill(Object.keys(before.promptSections)[0] ?? '');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('give one another name').waitFor();
    });
    assert.deepEqual((await call('get_bot_config')).promptSections, before.promptSections);
  });

  it('keeps exchange rates by currency, and adds months and currencies', async () => {
    const { exchangeRates: before } = await call('get_settings');
    await visit({ path: '/settings?tab=money', viewport: { width: 390, height: 844 } }, async (page) => {
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
    });
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
    await visit({ path: '/backups', viewport: { width: 390, height: 844 } }, async (page) => {
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
    });
  });
}
