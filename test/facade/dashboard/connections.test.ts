import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, PHONE, testDashboard, WIDE } from '../../support/dashboard.ts';
import { type FarServer, startFarServer } from '../../support/outgoing-world.ts';
import { until } from '../../support/until.ts';
import { signInByMail, startWorkspace, type Workspace } from '../sign-in/workspace.ts';

// together: one browser
describe('connections in the dashboard', { skip: withoutBrowser }, () => {
  let workspace: Workspace;
  let slack: FarServer;
  /** The session of another admin user. */
  let ada: string;
  const dashboard = testDashboard(async () => {
    slack = await startFarServer();
    workspace = await startWorkspace({ PRIVATE_UPSTREAMS: 'on' });
    return workspace;
  });
  const { call, visit } = dashboard;
  before(async () => {
    const client = await signInByMail(workspace);
    ada = /admin-session=[^;]+/.exec(client.cookieHeader(workspace.baseUrl))?.[0] ?? '';
  });

  it('take one URL for Slack, and send a test at once', async () => {
    await visit('/connections/new', async (page) => {
      await page.getByLabel('Name', { exact: false }).first().fill('team-slack');
      await page.getByLabel('Incoming webhook URL').fill(`${slack.url}/services/T/B/secret-part-of-slack`);
      assert.equal(await page.getByLabel('Base URL').count(), 0);
      await page.getByRole('button', { name: 'Create connection' }).click();
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByText('The test was taken.').waitFor();
    });
    assert.equal(slack.asked.length, 1);
    assert.equal(slack.asked[0]?.url, '/services/T/B/secret-part-of-slack');
  });

  it('ask for what each kind needs, without a complaint of axe', async () => {
    for (const viewport of [WIDE, PHONE])
      await visit({ path: '/connections/new', viewport, colorScheme: 'dark' }, async (page) => {
        await page.getByRole('radio', { name: /^HTTP API/ }).check();
        await page.getByLabel('Base URL').waitFor();
        await page.getByLabel('How').selectOption('basic');
        await page.getByLabel('Password').waitFor();
        assert.deepEqual(await findingsOf(page), []);
        await page.getByRole('radio', { name: /^Webhook/ }).check();
        await page.getByLabel('Receiver URL').waitFor();
        assert.deepEqual(await findingsOf(page), []);
      });
  });

  it('of a flow wait for another person, and then reach Slack and the mailbox', async () => {
    await call('update_settings', { mailRecipients: { addresses: ['board@example.com'], domains: [] } });
    const report = await call('create_report', { title: 'Agents', query: { tool: 'list_agents' } });
    const attachments = [{ type: 'report', id: report.id, format: 'csv' }];
    const mail = { to: ['board@example.com'], subject: 'Released', markdown: '**{{ input.text }}**', attachments };
    const steps = [
      { id: 'slack', tool: 'send_message', arguments: { connection: 'team-slack', text: '{{ input.text }}' } },
      { id: 'mail', tool: 'send_mail', arguments: mail },
    ];
    const { id } = await call('create_flow', { name: 'announce', steps });
    const run = await call('trigger_flow', { id, input: { text: 'The menu is mended.' } });
    for (const [tool, title] of [
      ['send_message', 'Send message'],
      ['send_mail', 'Send mail'],
    ] as const) {
      const waiting = async () => (await call('list_approvals', { status: 'waiting' })).data;
      await until(async () => (await waiting()).some((one: { tool: string }) => one.tool === tool));
      const [{ id: approvalId }] = await waiting();
      await visit({ path: `/approvals/${approvalId}`, cookie: ada }, async (page) => {
        await page.getByRole('heading', { name: title }).waitFor();
        await page.getByText('The menu is mended.').first().waitFor();
        await page.getByRole('button', { name: 'Approve' }).click();
        await page.getByRole('button', { name: 'Approve' }).waitFor({ state: 'detached' });
      });
    }
    await until(async () => (await call('get_flow_run', { id: run.id })).status === 'succeeded');
    assert.equal(JSON.parse(slack.asked.at(-1)?.body ?? '').text, 'The menu is mended.');
    const { to, source } = await workspace.mail.next();
    assert.deepEqual(to, ['board@example.com']);
    assert.match(source, /^Subject: Released\r$/m);
    assert.match(source, /<strong>The menu is mended\.<\/strong>/);
    assert.match(source, /filename=Agents\.csv/);
  });

  it('show what failed last', async () => {
    slack.answer = (_, response) => void response.writeHead(404).end('no_service');
    const [{ id }] = (await call('list_connections')).data;
    await visit(`/connections/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByText('answered 404', { exact: false }).first().waitFor();
    });
    await visit({ path: `/connections/${id}`, viewport: PHONE }, async (page) => {
      await page.getByText('no_service', { exact: false }).first().waitFor();
      assert.deepEqual(await findingsOf(page), []);
    });
  });
});
