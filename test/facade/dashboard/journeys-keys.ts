import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mustCall, rest } from '../../support/calls.ts';
import { findingsOf, type TestDashboard } from '../../support/dashboard.ts';
import { signIn, statusWith } from '../../support/sign-in.ts';
import { secretIn } from './secret-in.ts';

/** Keys: made, limited, explained, renewed. */
export function keysJourneys(dashboard: TestDashboard): void {
  const { call, inWindow } = dashboard;

  it('makes a key that works, gives it a new secret and revokes it', async () => {
    const statusOf = async (key: string) => (await rest(dashboard.server, 'GET', '/api/v1/agents', { key })).status;
    await inWindow(async (page, window) => {
      await window.open('/keys/new');
      await page.getByLabel('Name').fill('nightly');
      await page.getByRole('button', { name: 'Create key' }).click();
      const first = await secretIn(page);
      assert.equal(await statusOf(first), 200);
      const body = { name: 'no', displayName: 'No' };
      assert.equal((await rest(dashboard.server, 'POST', '/api/v1/agents', { key: first, body })).status, 403);
      await page.getByRole('button', { name: 'New secret' }).click();
      await page.getByRole('radio', { name: 'Now' }).check({ force: true });
      await page.getByRole('button', { name: 'Make the secret' }).click();
      const second = await secretIn(page);
      assert.deepEqual([await statusOf(first), await statusOf(second)], [401, 200]);
      await page.getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('dialog').getByRole('textbox').fill('nightly');
      await page.getByRole('button', { name: 'Revoke key' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      assert.equal(await statusOf(second), 401);
    });
  });

  it('says of a tool that is found by a search whether a key may call it, and why', async () => {
    const { id } = await call('create_api_key', { name: 'explained', scopes: ['read'] });
    await inWindow(async (page, window) => {
      await window.open(`/keys/${id}`);
      await page.getByRole('tab', { name: 'What it can do' }).click();
      const panel = page.getByRole('tabpanel');
      await panel.getByRole('searchbox', { name: 'Find tools' }).fill('create agent');
      await page.keyboard.press('Enter');
      await panel.getByText('The key may not call it.').waitFor();
      await panel.getByRole('button', { name: 'Pick another tool' }).click();
      await panel.getByRole('button', { name: /^List agents List agents/ }).click();
      await panel.getByText('The key may call it.').waitFor();
      assert.deepEqual(await findingsOf(page), []);
    });
    await call('revoke_api_key', { id });
  });

  it('gives a key of a member with few rights a new secret, beside which the old one works until it is ended', async () => {
    const email = 'member@example.com';
    await call('create_admin_user', { email, access: { scopes: ['read'] } });
    const own = { name: 'mine', scopes: ['read'] };
    const { id, secret: first } = await mustCall(
      dashboard.server,
      await signIn(dashboard.server, email),
      'create_api_key',
      own,
    );
    const statuses = (...keys: string[]) => Promise.all(keys.map((key) => statusWith(dashboard.server, key)));
    await inWindow(
      async (page, window) => {
        await window.open(`/keys/${id}`);
        assert.equal(await page.getByRole('table', { name: 'keys' }).locator('tbody tr').count(), 1);
        await page.getByRole('button', { name: 'New secret' }).click();
        await page.getByRole('button', { name: 'Make the secret' }).click();
        const second = await secretIn(page);
        assert.deepEqual(await statuses(first, second), [200, 200]);
        await page.getByRole('button', { name: 'End it now' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'End now' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        assert.deepEqual(await statuses(first, second), [401, 200]);
      },
      { email },
    );
  });
}
