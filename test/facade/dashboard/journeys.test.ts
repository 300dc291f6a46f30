import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Page } from 'playwright-core';
import { mustCall, rest } from '../../support/calls.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, settled, testDashboard } from '../../support/dashboard.ts';
import { signIn, statusWith } from '../../support/sign-in.ts';
import { startUpstream, toolCalled } from '../../support/upstream.ts';

if (withoutBrowser) console.log(`SKIPPED: what people do in the dashboard, for ${withoutBrowser}.`);

describe('what people do in the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard();
  const { call, inWindow } = dashboard;

  /** The secret in the dialog that shows it once, which is then closed. */
  async function secretIn(page: Page): Promise<string> {
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Copy it now').waitFor();
    const secret = (await dialog.locator('.secret code').textContent()) ?? '';
    await dialog.getByRole('button', { name: 'I have it' }).click();
    await dialog.waitFor({ state: 'detached' });
    return secret;
  }

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

  it('makes a capsule, previewed while it is picked, that an MCP client then uses', async () => {
    await inWindow(async (page, window) => {
      await window.open('/capsules/new');
      await page.getByLabel('Name').first().fill('Help desk');
      await page.getByLabel('Name or pattern of tools').fill('list_skills');
      await page.getByLabel('Name or pattern of tools').press('Enter');
      await page.getByText('1 tool, about').waitFor();
      await page.getByRole('button', { name: 'Create capsule' }).click();
      const dialog = page.getByRole('dialog');
      const token = (await dialog.locator('.secret code').textContent()) ?? '';
      const snippet = await dialog.locator('.connect code').textContent();
      const [url = ''] = /http\S+\/mcp/.exec(snippet ?? '') ?? [];
      assert.ok(url, `no address in ${snippet}`);
      await dialog.getByText('Waiting for the first client').waitFor();
      const client = new Client({ name: 'test', version: '1.0.0' });
      const requestInit = { headers: { Authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['list_skills'],
      );
      await client.callTool({ name: 'list_skills', arguments: {} });
      await client.close();
      await dialog.getByText('It works').waitFor();
      assert.equal(await secretIn(page), token);
      await page.getByRole('tab', { name: 'Use' }).click();
      await page.getByRole('cell', { name: 'list_skills' }).waitFor();
      const statusOf = async (bearer: string) =>
        (await fetch(url, { headers: { Authorization: `Bearer ${bearer}` } })).status;
      await page.getByRole('button', { name: 'New token' }).click();
      await page.getByRole('radio', { name: 'In 1 hour' }).check({ force: true });
      await page.getByRole('button', { name: 'Make the token' }).click();
      const second = await secretIn(page);
      await page.getByRole('tab', { name: 'Overview' }).click();
      await page.getByText(/works until .*, (60|59) minutes more\./).waitFor();
      assert.deepEqual([await statusOf(token), await statusOf(second)], [200, 200]);
      await page.getByRole('button', { name: 'End it now' }).click();
      await page.getByRole('button', { name: 'End now', exact: true }).click();
      await page.locator('.countdown').waitFor({ state: 'detached' });
      assert.deepEqual([await statusOf(token), await statusOf(second)], [401, 200]);
    });
  });

  it('fixes arguments of a capsule by the controls of its tools, or as JSON', async () => {
    const { id } = await call('create_capsule', { name: 'Fixed', allowedTools: ['list_skills', 'list_agents'] });
    await inWindow(async (page, window) => {
      await window.open(`/capsules/${id}/edit`);
      await page.getByLabel('Fix arguments of a tool').selectOption('list_agents');
      const tool = page.getByRole('region', { name: 'List agents' });
      await tool.getByLabel('Fix an argument').selectOption('status');
      await tool.getByRole('combobox', { name: /^Status/ }).selectOption('paused');
      await tool.getByLabel('Fix an argument').selectOption('limit');
      await tool.getByRole('spinbutton').fill('5');
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('radio', { name: 'JSON' }).check({ force: true });
      const json = page.getByLabel('Constraints as JSON').last();
      assert.deepEqual(JSON.parse(await json.inputValue()), { list_agents: { status: 'paused', limit: 5 } });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL(`**/capsules/${id}`);
    });
    assert.deepEqual((await call('get_capsule', { id })).constraints, { list_agents: { status: 'paused', limit: 5 } });
    await call('delete_capsule', { id });
  });

  it('selects what the browser does not let it copy, and says so', async () => {
    await inWindow(async (page, window) => {
      await window.open('/apps');
      await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))");
      await page.locator('.connect').getByRole('button', { name: 'Copy' }).click();
      await page.getByText('The browser did not let this page copy.').waitFor();
      assert.match(String(await page.evaluate('String(getSelection())')), /mcp/);
    });
  });

  it('brings back an earlier version on the page of its record', async () => {
    const { id } = await call('create_skill', { name: 'tone', instructions: 'Be brief.' });
    await call('update_skill', { id, instructions: 'Be long.' });
    await inWindow(async (page, window) => {
      await window.open(`/skills/${id}`);
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

  it('shows what an integration lists before it is approved', async () => {
    const upstream = await startUpstream(toolCalled('find'));
    const { id } = await call('create_integration', {
      name: 'Far',
      toolPrefix: 'far',
      transport: 'http',
      url: upstream.url,
      accept: false,
    });
    await inWindow(async (page, window) => {
      await window.open(`/integrations/${id}?tab=tools`);
      await page.getByText('1 definition changed').waitFor();
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByText('May write').waitFor();
    });
    assert.equal((await call('get_integration', { id })).tools[0].state, 'approved');
    await call('delete_integration', { id });
    await upstream.close();
  });

  it('runs a flow and shows its steps, and why one failed', async () => {
    const { id } = await call('create_flow', {
      name: 'Tidy',
      trigger: { kind: 'manual' },
      steps: [
        { id: 'all', tool: 'list_skills', arguments: {} },
        { id: 'one', tool: 'get_skill', arguments: { id: 'skl_none' } },
      ],
    });
    await inWindow(async (page, window) => {
      await window.open(`/flows/${id}`);
      await page.getByRole('button', { name: 'Run now' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
      await page.locator('.step-failed').waitFor();
      assert.equal(await page.locator('.step-succeeded').count(), 1);
      await page.locator('.step-failed').getByText('not_found').waitFor();
      await page.getByRole('link', { name: 'All runs' }).click();
      await settled(page);
      assert.equal(await page.getByRole('table', { name: 'Runs' }).locator('tbody tr').count(), 1);
    });
    await call('delete_flow', { id });
  });

  it('imports a file and hands back the rows that do not fit', async () => {
    const csv =
      'uid,email,status,createdAt\nn1,a@example.com,PRO,2026-01-02\nn2,b@example.com,GOLD,2026-01-02\nn3,c@example.com,FREE,2026-13-45\n';
    await inWindow(async (page, window) => {
      await window.open('/import');
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
    await inWindow(async (page, window) => {
      await window.open('/import');
      let refusals = 0;
      // As a proxy before the server that takes few calls.
      await page.route('**/api/v1/mcp', (route) => {
        if (route.request().headers()['mcp-name'] !== 'import_records' || refusals > 0) return route.fallback();
        refusals += 1;
        return route.fulfill({ status: 429, headers: { 'Retry-After': '1' }, body: 'Too many requests' });
      });
      const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
      await page.locator('input[type=file]').setInputFiles(file);
      await page.getByText('No column becomes status.').waitFor();
      await page.getByLabel('level becomes').selectOption('status');
      await page.getByRole('button', { name: 'Import 1 row' }).click();
      await page.getByText('The server takes more in 1 second').waitFor();
      await page.getByText('1 new, 0 changed, 0 unchanged, 0 refused').waitFor();
      assert.equal(refusals, 1);
    });
    assert.equal((await call('get_user', { userId: 'm1' })).status, 'PRO');
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

  it('asks before a record of a database is deleted, and leads to its versions', async () => {
    const columns = [{ name: 'Company', type: 'string' }];
    const { id: databaseId } = await call('create_database', { name: 'Firms', columns });
    const { id } = await call('create_record', { databaseId, values: { Company: 'Okapi' } });
    await inWindow(async (page, window) => {
      await window.open(`/databases/${databaseId}`);
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
      await dialog.getByText('So does whoever leaves').waitFor();
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
});
