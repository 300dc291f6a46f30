import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { mustCall } from '../../support/calls.ts';
import type { TestDashboard } from '../../support/dashboard.ts';
import { signIn } from '../../support/sign-in.ts';
import { secretIn } from './secret-in.ts';

/** People who leave, and who have to say again that it is them. */
export function peopleJourneys(dashboard: TestDashboard): void {
  const { call, inWindow } = dashboard;

  it('takes over the capsule of somebody who leaves, whose client goes on', async () => {
    const email = 'maker@example.com';
    const { id } = await call('create_admin_user', { email });
    const capsule = { name: 'Shop window', allowedTools: ['list_skills'], status: 'live' };
    const made = await mustCall(dashboard.server, await signIn(dashboard.server, email), 'create_capsule', capsule);
    const client = new Client({ name: 'test', version: '1.0.0' });
    const requestInit = { headers: { Authorization: `Bearer ${made.token}` } };
    const url = new URL(`${dashboard.server.baseUrl}/api/capsules/${made.id}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    await client.callTool({ name: 'list_skills', arguments: {} });
    await inWindow(async (page, window) => {
      await window.open(`/people/${id}?tab=holdings`);
      await page.getByRole('button', { name: 'Take over' }).click();
      const dialog = page.getByRole('dialog', { name: 'Take over Shop window?' });
      await dialog.getByRole('radio', { name: 'The old token stays' }).check({ force: true });
      await dialog.getByText('So can the person who leaves').waitFor();
      await dialog.getByRole('button', { name: 'Take over' }).click();
      await page.getByText('Nothing acts for this person').waitFor();
    });
    await call('deactivate_admin_user', { id });
    const { isError, structuredContent } = await client.callTool({ name: 'list_skills', arguments: {} });
    assert.deepEqual([isError ?? false, structuredContent !== undefined], [false, true]);
    await client.close();
  });

  it('ends the window of somebody who is deactivated in another', async () => {
    const email = 'leaver@example.com';
    const { id } = await call('create_admin_user', { email, name: 'Leaver' });
    await inWindow(
      async (page, window) => {
        await window.open('/skills');
        await inWindow(async (other, admin) => {
          await admin.open(`/people/${id}`);
          await other.getByRole('button', { name: 'Deactivate' }).click();
          await other.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
          await other.getByRole('button', { name: 'Reactivate' }).waitFor();
        });
        await page.reload();
        await page
          .getByRole('button', { name: /sign-in link|Send|Continue/i })
          .first()
          .waitFor();
      },
      { email },
    );
  });

  it('asks who signed in long ago to sign in again, and then makes what was typed', async () => {
    dashboard.server.clock.pass(10 * 60_000);
    await inWindow(async (page, window) => {
      await window.open('/keys/new');
      await page.getByLabel('Name').fill('kept');
      await page.getByRole('button', { name: 'Create key' }).click();
      const question = page.getByRole('dialog', { name: 'Confirm that it is you' });
      await question.getByRole('button', { name: 'Cancel' }).click();
      await page.getByText('Confirm in the dashboard that it is you').waitFor();
      assert.equal(await page.getByLabel('Name').inputValue(), 'kept');
      await page.getByRole('button', { name: 'Create key' }).click();
      const opened = window.context.waitForEvent('page');
      await question.getByRole('link', { name: 'Sign in again' }).click();
      const tab = await opened;
      await tab.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
      assert.equal(await tab.getByLabel('E-mail').inputValue(), 'admin@localhost');
      await tab.goto((await call('create_sign_in_link', { email: 'admin@localhost' })).url);
      await tab.getByRole('button', { name: 'Sign in' }).click();
      await tab.getByRole('heading', { name: 'It is you' }).waitFor();
      await secretIn(page);
      assert.equal((await call('list_api_keys', { limit: 1 })).data[0].name, 'kept');
    });
  });
}
