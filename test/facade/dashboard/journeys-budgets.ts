import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { rest } from '../../support/calls.ts';
import { findingsOf, type TestDashboard } from '../../support/dashboard.ts';
import { OAuthClient } from '../../support/oauth.ts';

const PHONE = { width: 390, height: 844 };

/** Budgets: made, used up, raised, found again. */
export function budgetsJourneys(dashboard: TestDashboard): void {
  const { call, inWindow, visit } = dashboard;
  const callWith = async (key: string) => {
    const { status, headers } = await rest(dashboard.server, 'GET', '/api/v1/agents', { key });
    return { status, after: headers.get('retry-after') };
  };

  it('limits a key, sees it used up until it renews, and raises the limit, so that the key works again', async () => {
    const { id, secret } = await call('create_api_key', { name: '<script>alert(1)</script>', scopes: ['read'] });
    await visit({ path: `/keys/${id}?tab=budgets`, viewport: PHONE }, async (page) => {
      await page.getByText('No budget limits it').waitFor();
      await page.getByRole('link', { name: 'New budget' }).click();
      await page.getByLabel('API key', { exact: true }).last().waitFor();
      const form = page.locator('form');
      await form.getByLabel('Measure').selectOption('calls');
      await form.getByLabel('Period').selectOption('day');
      await form.getByLabel('Limit (calls)').fill('2');
      await form.getByLabel('Warn at (%)').fill('70');
      await page.getByRole('button', { name: 'Create budget' }).click();
      await page.getByRole('heading', { name: '2 calls a day for <script>alert(1)</script>' }).waitFor();
      await page.getByText('0 of 2').filter({ visible: true }).waitFor();
      assert.equal((await call('list_budgets', { subject: { type: 'key', id } })).data[0].warnAt, 0.7);
      const address = page.url();

      assert.deepEqual([(await callWith(secret)).status, (await callWith(secret)).status], [200, 200]);
      const { status, after } = await callWith(secret);
      assert.equal(status, 429);
      await page.getByText('2 of 2').filter({ visible: true }).waitFor();
      const { data } = await call('list_budgets', { subject: { type: 'key', id } });
      const [{ renewsAt }] = data;
      assert.ok(Math.abs(Date.parse(renewsAt) - Date.now() - Number(after) * 1000) < 60_000, `${renewsAt} ${after}`);
      // In words of the clock of the browser, which has the time zone of this process.
      const clock = new Date(renewsAt).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
      await page.getByText(new RegExp(`Calls are refused until .*${clock}, unless the limit is raised`)).waitFor();
      await page.getByText('Used up').filter({ visible: true }).first().waitFor();
      assert.deepEqual(await findingsOf(page), []);

      await page.getByRole('link', { name: 'Edit' }).click();
      await page.getByLabel('Limit').fill('3');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: '3 calls a day for' }).waitFor();
      assert.equal(page.url(), address);
      assert.deepEqual([(await callWith(secret)).status, (await callWith(secret)).status], [200, 429]);

      await page.getByRole('link', { name: '<script>alert(1)</script>' }).click();
      await page.waitForURL(`**/keys/${id}`);
      await page.getByRole('tab', { name: 'Budgets' }).click();
      await page.getByRole('cell', { name: '3 of 3' }).waitFor();
      await page.getByRole('link', { name: '3 calls a day' }).click();
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('button', { name: 'Delete budget' }).click();
      await page.getByText('is deleted.').waitFor();
      assert.equal((await callWith(secret)).status, 200);
    });
    await call('revoke_api_key', { id });
  });

  it('filters budgets by whom they are of, state, measure and period, and finds them on the pages of their records', async () => {
    const { access_token } = await (
      await OAuthClient.registered(dashboard.server, { client_name: 'Notes' })
    ).connected();
    assert.ok(access_token);
    const [agents, capsules, apps] = await Promise.all(
      ['list_agents', 'list_capsules', 'list_connected_apps'].map((tool) => call(tool)),
    );
    const subjects = [
      { type: 'agent', id: agents.data[0].id, path: `/agents/${agents.data[0].id}?tab=budgets` },
      { type: 'capsule', id: capsules.data[0].id, path: `/capsules/${capsules.data[0].id}?tab=budgets` },
      { type: 'app', id: apps.data[0].id, path: `/apps/${apps.data[0].id}` },
    ];
    for (const { id } of (await call('list_budgets')).data) await call('delete_budget', { id }); // those of the demo
    const made: string[] = [];
    for (const [at, { type, id }] of subjects.entries()) {
      const budget = {
        subject: { type, id },
        measure: at === 0 ? 'tokens' : 'calls',
        period: at === 1 ? 'month' : 'day',
      };
      made.push((await call('create_budget', { ...budget, limit: 1000 + at, enabled: at !== 2 })).id);
    }
    await inWindow(
      async (page, window) => {
        const rows = page.getByRole('table', { name: 'budgets' }).locator('tbody tr');
        const shows = async (...limits: string[]) => {
          for (const limit of limits) await rows.filter({ hasText: limit }).first().waitFor();
          assert.equal(await rows.count(), limits.length);
        };
        await window.open('/budgets');
        await shows('1,000 tokens a day', '1,001 calls a month', '1,002 calls a day');
        assert.deepEqual(await findingsOf(page), []);
        await page.getByLabel('Owner', { exact: true }).selectOption('Capsule');
        await shows('1,001 calls a month');
        await page.getByLabel('Owner', { exact: true }).selectOption('');
        await page.getByLabel('State').selectOption('Off');
        await shows('1,002 calls a day');
        await rows.getByRole('link', { name: 'Notes' }).click();
        await page.getByRole('heading', { name: 'Notes' }).waitFor();
        await window.go('/budgets?measure=calls&period=day');
        await shows('1,002 calls a day');
        await window.go('/budgets?state=reached');
        await page.getByText('No budgets match').waitFor();
        await window.go('/budgets?q=notes');
        await shows('1,002 calls a day');
        for (const [at, { path }] of subjects.entries()) {
          await window.go(path);
          await page.getByRole('table', { name: 'Budgets' }).getByText(`1,00${at} `).first().waitFor();
          assert.deepEqual(await findingsOf(page), [], path);
        }
      },
      { colorScheme: 'dark' },
    );
    for (const id of made) await call('delete_budget', { id });
  });

  it('makes a budget by the keyboard alone, of an app picked by its name', async () => {
    await visit('/budgets/new', async (page) => {
      await page.getByRole('radio', { name: 'Agent' }).focus();
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('ArrowLeft');
      await page
        .getByRole('radio', { name: 'App', exact: true })
        .and(page.locator(':checked'))
        .waitFor({ state: 'attached' });
      await page.keyboard.press('Tab');
      // Nobody waits for what is found, however slow the answers are.
      await page.route('**/mcp', async (route) => {
        await delay(300);
        await route.continue();
      });
      await page.keyboard.type('Notes');
      await page.keyboard.press('Enter');
      await page.getByRole('combobox', { name: 'App' }).filter({ hasText: 'Notes' }).waitFor();
      const form = page.locator('form');
      // One key each: after a moment without one, a browser takes the next letter of a word for the first of another.
      for (const [label, key] of [
        ['Measure', 'Home'],
        ['Period', 'D'],
        ['Limit', '5'],
      ] as const) {
        await form.getByLabel(label).focus();
        await page.keyboard.press(key);
      }
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: '5 calls a day for Notes' }).waitFor();
      assert.deepEqual(await findingsOf(page), []);
    });
    const { data } = await call('list_budgets');
    await call('delete_budget', { id: data[0].id });
    await call('disconnect_app', { id: data[0].subject.id });
  });

  it('shows a person who may not see budgets their own alone', async () => {
    const email = 'no-budgets@example.com';
    const person = await call('create_admin_user', { email, access: { scopes: ['read'] } });
    const { data } = await call('list_agents', { limit: 1 });
    const limits = { measure: 'calls', period: 'day' };
    const subjects = [
      { type: 'person', id: person.id },
      { type: 'agent', id: data[0].id },
    ];
    const made: string[] = [];
    for (const [at, subject] of subjects.entries())
      made.push((await call('create_budget', { subject, ...limits, limit: 5000 + at })).id);
    await visit({ path: `/agents/${data[0].id}`, email }, async (page) => {
      assert.equal(await page.getByRole('tab', { name: 'Budgets' }).count(), 0);
      await page.goto(new URL('/budgets', page.url()).href);
      await page.getByText('5,000 calls a day').first().waitFor();
      assert.equal(await page.getByText('5,001 calls a day').count(), 0);
      assert.equal(await page.getByRole('link', { name: 'New budget' }).count(), 0);
      assert.deepEqual(await findingsOf(page), []);
    });
    for (const id of made) await call('delete_budget', { id });
  });
}
