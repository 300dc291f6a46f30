import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { mustCall } from '../../support/calls.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, inPage, PHONE, testDashboard, WIDE } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';

// together: one browser
const cards = (page: Page) => page.locator('.page-body h2').allTextContents();

/** With a picture of each window where PICTURE says how their names begin. */
async function isGood(page: Page, name: string): Promise<void> {
  assert.deepEqual(await findingsOf(page), [], name);
  assert.ok(await page.evaluate(inPage.fits), `${name} is too wide`);
  assert.deepEqual(await page.locator('.error-box, .empty').allTextContents(), [], name);
  if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-${name}.png`, fullPage: true });
}

const WINDOWS = [
  ['wide', { viewport: WIDE, colorScheme: 'light' }],
  ['dark', { viewport: WIDE, colorScheme: 'dark' }],
  ['phone', { viewport: PHONE, colorScheme: 'light' }],
] as const;

describe('Home of a workspace in use', { skip: withoutBrowser }, () => {
  const { call, visit } = testDashboard();

  it('says what agents did, what that cost and how the business does, and no lines of a log', async () => {
    const { data: agents } = await call('list_agents', { limit: 1 });
    const subject = { type: 'agent', id: agents[0].id };
    const made = await call('create_budget', { subject, measure: 'tokens', period: 'day', limit: 1e6 });
    for (const [name, options] of WINDOWS)
      await visit({ path: '/', ...options }, async (page) => {
        const did = page.getByRole('region', { name: 'What agents did' });
        await did.getByText('Last 7 days').waitFor();
        assert.match((await did.locator('.did-number').allTextContents()).join(), /\d+ runs?/);
        const cost = page.getByRole('region', { name: 'What it cost' });
        await cost.getByText(agents[0].displayName).waitFor();
        await page.locator('.headline-number').first().waitFor();
        assert.equal(await page.getByText('What happened').count(), 0);
        await isGood(page, `home-${name}`);
      });
    await call('delete_budget', { id: made.id });
  });

  it('shows a person with two projects and an agent just these', async () => {
    const email = 'guest@example.com';
    const agent = await call('create_agent', { name: 'greeter', displayName: 'Greeter', tools: [] });
    const one = await call('create_project', { name: 'Opening' });
    const other = await call('create_project', { name: 'Closing' });
    const hidden = await call('create_project', { name: 'Hidden' });
    const grants = [`agent:read:${agent.id}`, `project:read:${one.id}`, `project:read:${other.id}`];
    const person = await call('create_admin_user', { email, access: { scopes: [], grants } });
    for (const [name, options] of WINDOWS)
      await visit({ path: '/', email, ...options }, async (page) => {
        await page.getByRole('region', { name: 'Projects' }).getByText('Closing').waitFor();
        await page.getByRole('region', { name: 'Agents', exact: true }).getByText('Greeter').waitFor();
        assert.deepEqual((await cards(page)).sort(), ['Agents', 'Projects']);
        assert.equal(await page.getByText('Hidden').count(), 0);
        await isGood(page, `home-limited-${name}`);
      });
    await call('deactivate_admin_user', { id: person.id });
    await call('delete_agent', { id: agent.id });
    for (const { id } of [one, other, hidden]) await call('delete_project', { id });
  });
});

describe('Home of a new workspace', { skip: withoutBrowser }, () => {
  const { call, visit } = testDashboard(() => startTestServer());

  it('leads through what is to set up, and ticks it by what there is', async () => {
    await visit({ path: '/', fresh: true }, async (page) => {
      const setUp = page.getByRole('region', { name: 'Set up' });
      // The key of the test is a client that called by MCP.
      await setUp.getByText('1 of 4').waitFor();
      assert.deepEqual(await setUp.getByRole('link').allTextContents(), ['Add a provider', 'New agent', 'Import']);
      assert.equal((await cards(page)).length, 1);
      await isGood(page, 'home-new');
      const agent = await call('create_agent', { name: 'first', displayName: 'First' });
      await page.reload();
      await setUp.getByText('2 of 4').waitFor();
      await setUp.getByRole('button', { name: 'Skip: Import your users' }).click();
      await setUp.getByText('2 of 3').waitFor();
      await page.reload();
      await setUp.getByText('2 of 3').waitFor();
      await call('delete_agent', { id: agent.id });
      await page.reload();
      await setUp.getByText('1 of 3').waitFor();
    });
  });
});

describe('what waits on Home', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer());
  const { call, visit } = dashboard;
  const soon = new Date(Date.now() + 5 * 24 * 3_600_000).toISOString();
  before(async () => {
    const key = await call('create_api_key', { name: 'Deploys', scopes: ['read'], expiresAt: soon });
    await call('create_capsule', { name: 'Fair', allowedTools: ['list_skills'], status: 'live', expiresAt: soon });
    const subject = { type: 'key', id: key.id };
    await call('create_budget', { subject, measure: 'calls', period: 'day', limit: 2, warnAt: 0.5 });
    await mustCall(dashboard.server, key.secret, 'list_skills');
    await call('create_integration', {
      name: 'Weather',
      transport: 'http',
      url: 'http://127.0.0.1:9/mcp',
      toolPrefix: 'weather',
    });
    await until(async () => (await call('list_integrations')).data[0].status.state === 'unavailable');
    const skill = { name: 'once', instructions: 'Be brief.' };
    await call('create_skill', skill);
    const steps = [{ id: 'again', tool: 'create_skill', arguments: skill }];
    const flow = await call('create_flow', { name: 'nightly', steps });
    for (let n = 0; n < 2; n += 1) await call('trigger_flow', { id: flow.id, wait: true });
  });

  it('is what ends soon, what failed, what is used up and what cannot be reached, each once and with its way', async () => {
    for (const [name, options] of WINDOWS)
      await visit({ path: '/', ...options }, async (page) => {
        const waits = page.getByRole('region', { name: 'Needs your attention' });
        await waits.getByText('Weather').waitFor();
        const said = await waits.getByRole('link').allTextContents();
        for (const expected of [
          /^Deploys.*key.*expires soon/,
          /^Fair.*capsule.*expires/,
          /^Deploys has used 1 of 2 calls today/,
          /^Weather cannot be reached/,
          /^nightly failed 2 times/,
        ])
          assert.equal(said.filter((text) => expected.test(text)).length, 1, `${expected}: ${said.join(' | ')}`);
        await isGood(page, `home-waits-${name}`);
        await waits.getByRole('link', { name: /Deploys.*key/ }).click();
        await page.getByRole('heading', { name: 'Deploys' }).waitFor();
      });
  });
});
