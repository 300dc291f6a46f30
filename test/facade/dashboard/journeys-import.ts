import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rest } from '../../support/calls.ts';
import { findingsOf, type TestDashboard } from '../../support/dashboard.ts';

/** Files of rows that are brought in. */
export function importJourneys(dashboard: TestDashboard): void {
  const { call, inWindow, visit } = dashboard;

  it('imports a file and hands back the rows that do not fit', async () => {
    const csv =
      'uid,email,status,createdAt\nn1,a@example.com,PRO,2026-01-02\nn2,b@example.com,GOLD,2026-01-02\nn3,c@example.com,FREE,2026-13-45\n';
    await visit('/import', async (page) => {
      const file = { name: 'users.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
      await page.locator('input[type=file]').setInputFiles(file);
      await page.getByRole('button', { name: 'Check first' }).click();
      await page.getByText('1 new, 0 changed, 0 unchanged, 2 refused. This is a check').waitFor();
      assert.equal(await page.getByRole('table', { name: 'Refused rows' }).locator('tbody tr').count(), 2);
      const key = dashboard.server.adminKey;
      assert.equal((await rest(dashboard.server, 'GET', '/api/v1/users/n1', { key })).status, 404);
      await page.getByRole('button', { name: 'Import 3 rows' }).click();
      await page.getByText('3 rows read: 1 new, 0 changed, 0 unchanged, 2 refused').waitFor();
      await page.getByRole('button', { name: 'Check first' }).click();
      await page.getByText('0 new, 0 changed, 1 unchanged, 2 refused. This is a check').waitFor();
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Refused rows' }).click();
      const stream = await (await download).createReadStream();
      const lines = (await stream.toArray()).join('').trim().split('\r\n');
      assert.deepEqual(
        lines.map((line) => line.split(',')[0]),
        ['line', '3', '4'],
      );
    });
    assert.equal((await call('get_user', { userId: 'n1' })).email, 'a@example.com');
  });

  it('imports columns of other names, and goes on after the server asked it to wait', async () => {
    const csv = 'User ID,E-Mail,level,Created\nm1,m@example.com,PRO,2026-01-02\n';
    await visit('/import', async (page) => {
      let refusals = 0;
      // As a proxy before the server that takes few calls.
      await page.route('**/api/v1/mcp', (route) => {
        if (route.request().headers()['mcp-name'] !== 'import_records' || refusals > 0) return route.fallback();
        refusals += 1;
        return route.fulfill({ status: 429, headers: { 'Retry-After': '1' }, body: 'Too many requests' });
      });
      const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
      await page.locator('input[type=file]').setInputFiles(file);
      await page.getByRole('region', { name: 'Same value for all rows' }).waitFor();
      assert.ok(await page.getByRole('button', { name: 'Import 1 row' }).isDisabled());
      await page.getByLabel(/^Status/).selectOption('FREE');
      assert.ok(await page.getByRole('button', { name: 'Import 1 row' }).isEnabled());
      await page.getByRole('button', { name: 'Check first' }).click();
      await page.getByText('The server takes more in 1 second').waitFor();
      await page.getByText('1 new, 0 changed, 0 unchanged, 0 refused. This is a check').waitFor();
      await page.getByLabel('level becomes').selectOption('status');
      await page.getByRole('button', { name: 'Import 1 row' }).click();
      await page.getByText('1 new, 0 changed, 0 unchanged, 0 refused').waitFor();
      assert.equal(refusals, 1);
    });
    assert.equal((await call('get_user', { userId: 'm1' })).status, 'PRO');
  });

  it('shows names, columns and cells of files as the texts they are', async () => {
    const planted = '<img src=x onerror="globalThis.planted=1"><script>planted=1</script>';
    const cell = `"${planted.replaceAll('"', '""')}"`;
    const named = '<img src=x onerror=planted=1>';
    await visit('/import', async (page, window) => {
      const give = (name: string, text: string) =>
        page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
      const noMarkup = async (seen: string | RegExp) => {
        await page.getByText(seen).first().waitFor();
        assert.equal(await page.evaluate('"planted" in globalThis'), false);
        assert.equal(await page.locator('img, #app script').count(), 0);
      };
      await give(`${named}.txt`, 'x');
      await noMarkup(`${named}.txt is neither`);
      await give(`${named}.csv`, '');
      await noMarkup(`There are no rows in ${named}.csv`);
      await give(
        'a.csv',
        `uid,email,status,createdAt,${cell}\np1,p@example.com,PRO,2026-01-02,${cell}\np2,${cell},${cell},,\n`,
      );
      await noMarkup('<img src=x');
      await page.getByLabel('<img src=x').selectOption('name');
      await page.getByRole('button', { name: 'Import 2 rows' }).click();
      await noMarkup('1 new, 0 changed, 0 unchanged, 1 refused');
      assert.deepEqual(await findingsOf(page), []);
      await give(
        'invoices.csv',
        `id,Customer,Total,Currency,Status,Date (UTC)\n${cell},c,1,eur,${cell},2026-03-01 09:30\n`,
      );
      await page.getByRole('button', { name: 'Check first' }).click();
      await noMarkup('1 left out (is <img src=x');
      await window.go('/users/p1');
      await noMarkup('<img src=x');
    });
    assert.equal((await call('get_user', { userId: 'p1' })).name, planted);
  });

  it('knows whose export a file is, and imports it without a choice of columns', async () => {
    const paddle = {
      ...{ id: 'sub_p', status: 'active', customer_id: 'ctm_1', currency_code: 'EUR' },
      ...{ created_at: '2026-01-01T10:00:00Z', started_at: '2026-01-01T10:00:00Z' },
      billing_cycle: { interval: 'year', frequency: 1 },
      items: [{ quantity: 1, price: { id: 'pri_1', name: 'Pro', unit_price: { amount: '12000' } }, trial_dates: null }],
    };
    const files = {
      'stripe-customers': [
        'customers.csv',
        'id,Email,Name,Created (UTC),Status\ncus_1,s@example.com,Sam,2026-01-01 09:30,active\n',
      ],
      'stripe-subscriptions': [
        'subscriptions.csv',
        'id,Customer ID,Plan,Amount,Currency,Interval,Status,Start Date (UTC)\nsub_s,cus_1,pro,"1,029.90",eur,month,active,2026-01-02 09:30\n',
      ],
      'paddle-subscriptions': ['list.ndjson', JSON.stringify(paddle)],
      'plausible-events': [
        'events_v2.csv',
        'name,user_id,session_id,timestamp,pathname\npageview,1,2,2026-01-01 10:00:00,/a\nSignup,1,2,2026-01-01 10:00:00,/a\n',
      ],
    } as const;
    await inWindow(async (page, window) => {
      for (const [preset, [name, text]] of Object.entries(files)) {
        await window.open('/import');
        const file = { name, mimeType: 'text/plain', buffer: Buffer.from(text) };
        await page.locator('input[type=file]').setInputFiles(file);
        assert.equal(await page.getByLabel('Exported from').inputValue(), preset);
        assert.equal(await page.getByRole('table', { name: 'Columns' }).count(), 0);
        await page.getByRole('button', { name: /^Import \d rows?$/ }).click();
        await page.getByText(/read: 1 new, 0 changed, 0 unchanged, 0 refused/).waitFor();
      }
      await page.getByText('1 left out (goal Signup: plausible-goals imports it)').waitFor();
    });
    const { plan, status, mrr } = await call('get_user_billing', { userId: 'cus_1' });
    assert.deepEqual([plan, status, mrr], ['pro', 'active', 1029.9]);
  });
}
