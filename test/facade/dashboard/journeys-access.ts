import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Page } from 'playwright-core';
import { mustCall, rest } from '../../support/calls.ts';
import { findingsOf, PHONE, type TestDashboard } from '../../support/dashboard.ts';
import { signIn, statusWith } from '../../support/sign-in.ts';
import { startUpstream, toolCalled } from '../../support/upstream.ts';

/** Keys: made, limited, explained, renewed. */
export function keysJourneys(dashboard: TestDashboard): void {
  const { call, visit } = dashboard;

  it('makes a key that works, gives it a new secret and revokes it', async () => {
    const statusOf = async (key: string) => (await rest(dashboard.server, 'GET', '/api/v1/agents', { key })).status;
    await visit('/keys/new', async (page) => {
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
    await visit(`/keys/${id}`, async (page) => {
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

  it('shows in one table what each person, key, capsule and agent can do, by subject', async () => {
    const { id } = await call('create_api_key', { name: 'matrix', scopes: [], grants: ['document:read:*'] });
    const { data } = await call('view_as', { keyId: id });
    await visit('/access?of=keys', async (page) => {
      const row = page.getByRole('row', { name: /^matrix/ });
      const titles = await page.getByRole('columnheader').allTextContents();
      await row.locator('.badge').first().waitFor();
      const cells = await row.getByRole('cell').allTextContents();
      const cellOf = (title: string) => cells[titles.indexOf(title)]?.trim();
      assert.deepEqual([cellOf('Knowledge')?.split(' ')[0], cellOf('Flows'), cellOf('Business')], ['Reads', '–', '–']);
      await row.getByRole('cell').nth(titles.indexOf('Knowledge')).getByRole('button').click();
      const dialog = page.getByRole('dialog', { name: 'What matrix can do' });
      await dialog.getByText('none of which changes anything').waitFor();
      assert.ok(data.length > 0);
      assert.deepEqual(await findingsOf(page), []);
      await page.keyboard.press('Escape');
      await page.getByRole('radio', { name: 'Agents' }).check({ force: true });
      await page.getByRole('row', { name: /^Mira/ }).locator('.badge').first().waitFor();
    });
    await call('revoke_api_key', { id });
  });

  it('tells rights that are not known from none, says where they are for some records, and counts integrations as outside', async () => {
    const upstream = await startUpstream(toolCalled('find'));
    const { url } = upstream;
    const far = await call('create_integration', {
      name: 'Far',
      toolPrefix: 'far',
      transport: 'http',
      url,
      accept: true,
    });
    const document = await call('create_document', { title: 'One alone', content: 'Seen by few.' });
    const grants = [`document:read:${document.id}`];
    const { id } = await call('create_api_key', { name: 'narrow', scopes: [], grants });
    const whole = await call('create_api_key', { name: 'whole', scopes: ['admin'] });
    await visit({ path: '/access?of=keys', viewport: PHONE }, async (page) => {
      await page.getByText('Knowledge (some)').waitFor();
    });
    await visit('/access?of=keys', async (page) => {
      const outside = (await page.getByRole('columnheader').allTextContents()).indexOf('Outside');
      const cell = page
        .getByRole('row', { name: /^whole/ })
        .getByRole('cell')
        .nth(outside);
      await cell.getByRole('button').click();
      await page.getByRole('dialog').getByRole('link', { name: 'find' }).waitFor();
    });
    await visit({ path: '/agents', viewport: PHONE }, async (page, window) => {
      await page.route('**/api/v1/mcp', (route) =>
        route.request().headers()['mcp-name'] === 'view_as' ? route.abort() : route.continue(),
      );
      await window.go('/access?of=keys');
      const row = page.getByRole('row', { name: /narrow/ });
      await row.getByText('Not known').filter({ visible: true }).waitFor();
      assert.equal(await page.getByText('Nothing', { exact: true }).count(), 0);
    });
    await call('revoke_api_key', { id });
    await call('revoke_api_key', { id: whole.id });
    await call('delete_document', { id: document.id });
    await call('delete_integration', { id: far.id });
    await upstream.close();
  });

  it('lists all who can call a tool, each with its page, to people who may see that', async () => {
    const made: string[] = [];
    for (let index = 0; index < 30; index += 1) {
      const agent = { name: `lister-${index}`, displayName: `Lister ${index}`, tools: ['list_agents'] };
      made.push((await call('create_agent', agent)).id);
    }
    const { total } = await call('list_who_can', { tool: 'list_agents', limit: 1, includeTotal: true });
    await visit('/tools/list_agents', async (page) => {
      await page.getByRole('button', { name: 'Who can do this?' }).click();
      const dialog = page.getByRole('dialog', { name: 'Who can do this? List agents' });
      await dialog.getByText(`${total} in all`).waitFor();
      const links = dialog.locator('tbody a');
      while ((await links.count()) < total) {
        const before = await links.count();
        await dialog.getByRole('button', { name: 'Load more' }).scrollIntoViewIfNeeded();
        await links.nth(before).waitFor();
      }
      const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')));
      assert.deepEqual([paths.length, new Set(paths).size], [total, total]);
      assert.deepEqual(await findingsOf(page), []);
      await page.setViewportSize(PHONE);
      assert.equal(await page.evaluate(FITS), true);
      await dialog.getByRole('link', { name: 'lister-29' }).click();
      await page.waitForURL(`**/agents/${made[29]}`);
      await page.getByRole('heading', { name: 'Lister 29' }).waitFor();
    });
    const email = 'reader@example.com';
    await call('create_admin_user', { email, access: { scopes: ['read'] } });
    await visit({ path: '/tools/list_agents', email }, async (page) => {
      await page.getByRole('button', { name: 'Run' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Who can do this?' }).count(), 0);
    });
    await Promise.all(made.map((id) => call('delete_agent', { id })));
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
    await visit({ path: `/keys/${id}`, email }, async (page) => {
      assert.equal(await page.getByRole('table', { name: 'keys' }).locator('tbody tr').count(), 1);
      await page.getByRole('button', { name: 'New secret' }).click();
      await page.getByRole('button', { name: 'Make the secret' }).click();
      const second = await secretIn(page);
      assert.deepEqual(await statuses(first, second), [200, 200]);
      await page.getByRole('button', { name: 'End it now' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'End now' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      assert.deepEqual(await statuses(first, second), [401, 200]);
    });
  });
}

/** Capsules and what else connects clients. */
export function capsulesJourneys(dashboard: TestDashboard): void {
  const { call, visit } = dashboard;

  it('makes a capsule, previewed while it is picked, that an MCP client then uses', async () => {
    await visit('/capsules/new', async (page) => {
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
    await visit(`/capsules/${id}/edit`, async (page) => {
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
    await visit('/apps', async (page) => {
      await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))");
      await page.locator('.empty-connect').getByRole('button', { name: 'Copy' }).click();
      await page.getByText('The browser did not let this page copy.').waitFor();
      assert.match(String(await page.evaluate('String(getSelection())')), /mcp/);
    });
  });
}

/** People who leave, and who have to say again that it is them. */
export function peopleJourneys(dashboard: TestDashboard): void {
  const { call, visit } = dashboard;

  it('invites somebody to what is picked, and to no more', async () => {
    const email = 'partner@example.com';
    const agent = await call('create_agent', { name: 'greeter', displayName: 'Greeter' });
    const project = await call('create_project', { name: 'Opening' });
    await visit('/people/new', async (page) => {
      await page.getByLabel('Email').fill(email);
      assert.equal(await page.getByRole('radio', { name: /^Viewer/ }).isChecked(), true);
      await page.getByRole('radio', { name: /^Only what you pick/ }).check();
      for (const name of ['Greeter', 'Opening']) {
        await page.locator('.picks').getByRole('button', { name: 'Add' }).click();
        const list = page.locator('.record-choices:popover-open');
        await list.getByLabel('Name or id').fill(name);
        await list.locator('.record-group').getByRole('button', { name }).click();
      }
      await page
        .getByRole('group', { name: `What they may do with ${agent.id}` })
        .getByText('Use')
        .click();
      await page.getByText('Talks with 1 agent, sees 1 project; nothing else.').waitFor();
      assert.deepEqual(await findingsOf(page), []);
      if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-invite.png` });
      await page.getByRole('button', { name: 'Invite', exact: true }).click();
      const dialog = page.getByRole('dialog', { name: `${email} is invited` });
      await dialog.getByText('This server sends no mail').waitFor();
      await page.getByText(`${email} was invited.`).waitFor();
      await dialog.getByRole('button', { name: 'Make a link' }).waitFor();
      await dialog.getByRole('button', { name: 'Done' }).click();
      await page.locator('dd').getByText('Talks with 1 agent, sees 1 project; nothing else.').waitFor();
      if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-person.png` });
    });
    await visit({ path: '/agents', email }, async (page) => {
      await page.getByText('Greeter').waitFor();
      assert.equal(await page.locator('tbody tr').count(), 1);
    });
    await visit('/people', async (page) => {
      await page.getByText(email).click();
      await page.getByRole('link', { name: 'Edit' }).click();
      assert.equal(await page.getByRole('radio', { name: /^Only what you pick/ }).isChecked(), true);
      await page.getByRole('radio', { name: /^Builder/ }).check();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('dd').getByText('Builder').waitFor();
      await page.getByRole('tab', { name: 'What they can do' }).click();
      await page.getByText(/^\d+ tools, \d+ of which change something\.$/).waitFor();
      await page.getByRole('searchbox', { name: 'Find a tool' }).fill('create agent');
      await page.getByRole('table', { name: 'What it can call' }).getByRole('link', { name: 'Create agent' }).waitFor();
      assert.deepEqual(await findingsOf(page), []);
    });
    const { data } = await call('list_admin_users', { limit: 100 });
    const { access, id } = data.find((user: { email: string }) => user.email === email);
    assert.deepEqual(access, { scopes: ['write'] });
    await call('deactivate_admin_user', { id });
    await Promise.all([call('delete_agent', { id: agent.id }), call('delete_project', { id: project.id })]);
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
    await visit(`/people/${id}?tab=holdings`, async (page) => {
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
    await visit({ path: '/skills', email }, async (page) => {
      await visit(`/people/${id}`, async (other) => {
        await other.getByRole('button', { name: 'Deactivate' }).click();
        await other.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
        await other.getByRole('button', { name: 'Reactivate' }).waitFor();
      });
      await page.reload();
      await page
        .getByRole('button', { name: /sign-in link|Send|Continue/i })
        .first()
        .waitFor();
    });
  });

  it('asks who signed in long ago to sign in again, and then makes what was typed', async () => {
    dashboard.server.clock.pass(10 * 60_000);
    await visit('/keys/new', async (page, window) => {
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
      assert.equal(await tab.getByLabel('Email').inputValue(), 'admin@localhost');
      await tab.goto((await call('create_sign_in_link', { email: 'admin@localhost' })).url);
      await tab.getByRole('button', { name: 'Sign in' }).click();
      await tab.getByRole('heading', { name: 'It is you' }).waitFor();
      await secretIn(page);
      assert.equal((await call('list_api_keys', { limit: 1 })).data[0].name, 'kept');
    });
  });
}

/** Whether nothing in the open dialog has to be moved sideways. */
const FITS =
  "[...document.querySelectorAll('dialog[open] *')].every((box) => box.scrollWidth <= box.clientWidth + 1 || getComputedStyle(box).display === 'inline')";

/** The secret in the dialog that shows it once, which is then closed. */
export async function secretIn(page: Page): Promise<string> {
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Copy it now').waitFor();
  const secret = (await dialog.locator('.secret code').textContent()) ?? '';
  await dialog.getByRole('button', { name: 'I have it' }).click();
  await dialog.waitFor({ state: 'detached' });
  return secret;
}
