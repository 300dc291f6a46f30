import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { findingsOf, settled, type TestDashboard } from '../../support/dashboard.ts';
import { startUpstream, toolCalled } from '../../support/upstream.ts';
import { generic, github, type Sent, slack, standard } from '../../support/webhook-senders.ts';

/** Adds a step at the beginning, by a search for its tool. */
async function addStep(page: Page, words: string, tool: string): Promise<void> {
  await page.getByRole('button', { name: 'Add a step at the beginning' }).click();
  await page.getByRole('searchbox', { name: 'Find tools' }).fill(words);
  await page.keyboard.press('Enter');
  await page
    .getByRole('region', { name: /^Settings of/ })
    .getByText(tool)
    .first()
    .waitFor();
}

/** Flows, webhooks and integrations. */
export function flowsJourneys(dashboard: TestDashboard): void {
  const { call, visit } = dashboard;

  it('makes a flow whose steps call tools that are found by a search', async () => {
    await visit('/flows/new', async (page) => {
      await page.getByLabel('Name').first().fill('Morning');
      await addStep(page, 'list skills', 'list_skills');
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('button', { name: 'Create flow' }).click();
      await page.getByRole('heading', { name: 'Morning' }).waitFor();
    });
    const { data } = await call('list_flows');
    const { id, steps } = data.find(({ name }: { readonly name: string }) => name === 'Morning');
    assert.deepEqual(
      steps.map(({ tool }: { readonly tool: string }) => tool),
      ['list_skills'],
    );
    await call('delete_flow', { id });
  });

  it('runs a flow and shows its steps, and why one failed', async () => {
    const { id } = await call('create_flow', {
      name: 'Tidy',
      trigger: { kind: 'manual' },
      steps: [
        { id: 'all', tool: 'list_skills', arguments: {} },
        { id: 'one', tool: 'get_skill', arguments: { id: '{{ "skl_none" }}' } },
      ],
    });
    await visit(`/flows/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Run now' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
      await page.locator('.step-failed').waitFor();
      assert.equal(await page.locator('.step-succeeded').count(), 1);
      await page.getByRole('region', { name: 'Step one' }).getByText('not_found').waitFor();
      await page.getByRole('link', { name: 'All runs' }).click();
      await settled(page);
      assert.equal(await page.getByRole('table', { name: 'Runs' }).locator('tbody tr').count(), 1);
    });
    await call('delete_flow', { id });
  });

  it('connects GitHub to a flow, and shows what it sent with a link to the run', async () => {
    const { id } = await call('create_flow', {
      name: '<script>globalThis.planted=1</script>',
      trigger: { kind: 'webhook' },
      steps: [{ id: 'all', tool: 'list_skills', arguments: {} }],
    });
    const url = `${dashboard.server.baseUrl}/api/v1/agents/flows/${id}/trigger`;
    await visit(`/flows/${id}`, async (page) => {
      await page.getByRole('region', { name: 'Webhook' }).getByText(url).waitFor();
      await page.getByRole('button', { name: 'Connect a sender' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Sender').selectOption('github');
      await dialog.getByLabel('Secret').fill(github.secret);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Takes what GitHub signs.').waitFor();
      assert.equal((await page.content()).includes(github.secret), false);
      assert.equal((await fetch(url, { method: 'POST', ...github.sign('{"n":1}', 0) })).status, 202);
      await page.getByRole('tab', { name: 'Deliveries' }).click();
      const row = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr');
      await row.getByText('push').waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await row.getByRole('link', { name: 'Open run' }).click();
      await page.locator('.step-succeeded').waitFor();
      await page.getByRole('heading', { name: '<script>globalThis.planted=1</script>' }).waitFor();
      assert.equal(await page.evaluate('"planted" in globalThis'), false);
    });
    await call('delete_flow', { id });
  });

  for (const [sender, label, event] of [
    [slack, 'Slack', 'app_mention'],
    [standard, 'Standard Webhooks', 'invoice.paid'],
    [generic, 'Any other (HMAC)', 'invoice.paid'],
  ] as const) {
    it(`makes a flow that takes what ${label} signs, and lists the delivery with the run it began`, async () => {
      let id = '';
      await visit('/flows/new', async (page) => {
        await page.getByLabel('Name').first().fill(`From ${sender.scheme}`);
        await page.locator('.segment', { hasText: 'When a webhook arrives' }).click();
        await page.getByLabel('Sender').selectOption(label);
        await page.getByLabel('Secret').fill(sender.secret);
        await addStep(page, 'list skills', 'list_skills');
        assert.deepEqual(await findingsOf(page), []);
        await page.getByRole('button', { name: 'Create flow' }).click();
        const address = page
          .getByRole('region', { name: 'Webhook' })
          .getByText(/\/api\/v1\/agents\/flows\/.*\/trigger$/);
        const url = (await address.first().textContent()) ?? '';
        id = url.split('/').at(-2) ?? '';
        assert.equal((await page.content()).includes(sender.secret), false);

        const body = JSON.stringify({ type: event, event: { type: event } });
        const post = (sent: Sent) => fetch(url, { method: 'POST', ...sent });
        const signed = sender.sign(body, Math.floor(Date.now() / 1000));
        assert.equal((await post({ ...signed, body: `${body} ` })).status, 401);
        assert.equal((await post(signed)).status, sender === slack ? 200 : 202);
        await page.getByRole('tab', { name: 'Deliveries' }).click();
        const rows = page.getByRole('table', { name: 'Deliveries' }).locator('tbody tr');
        await rows.filter({ hasText: 'Bad signature' }).waitFor();
        const begun = rows.filter({ hasText: event });
        await begun.getByText('Run started').waitFor();
        assert.deepEqual(await findingsOf(page), []);
        await begun.getByRole('link', { name: 'Open run' }).click();
        await page.locator('.step-succeeded').waitFor();
      });
      await call('delete_flow', { id });
    });
  }

  it('fits the actions of a webhook into the width of a phone', async () => {
    const target = { url: 'https://hooks.example.com/a/path/that/is/rather/long/for/a/narrow/screen' };
    const { id } = await call('create_webhook', { name: 'Billing mirror', target, alerts: ['backup.old'] });
    await visit({ path: `/webhooks/${id}`, viewport: { width: 390, height: 844 } }, async (page) => {
      await page.getByText(target.url).waitFor();
      const tops = await page
        .locator('.detail-bar')
        .locator('button, a')
        .filter({ visible: true })
        .evaluateAll((buttons) => buttons.map((button) => Math.round(button.getBoundingClientRect().top)));
      const [back, first, ...others] = tops;
      assert.deepEqual(others, [first, first, first, back], 'the menu is beside the way back, all else below');
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
      assert.deepEqual(await findingsOf(page), []);
    });
    await call('delete_webhook', { id });
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
    await visit(`/integrations/${id}?tab=tools`, async (page) => {
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
}
