import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mustCall } from '../../support/calls.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, inPage, PHONE, testDashboard } from '../../support/dashboard.ts';
import { until } from '../../support/until.ts';
import { github } from '../../support/webhook-senders.ts';

// together: one browser
if (withoutBrowser) console.log(`SKIPPED: the canvas of flows, for ${withoutBrowser}.`);

describe('the canvas of a flow', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard();
  const { call, visit } = dashboard;
  const steps = [
    { id: 'all', tool: 'list_skills', arguments: { limit: 5 } },
    { id: 'never', tool: 'list_agents', when: 'size(steps.all.output.data) > 1000' },
    { id: 'one', tool: 'get_skill', arguments: { id: '{{ input.skill }}' } },
    { id: 'last', tool: 'list_agents', approval: true },
  ];

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`shows what starts it and each step, and by the keyboard what a step is given, in ${colorScheme}`, async () => {
      const { id } = await call('create_flow', {
        name: 'Look around',
        trigger: { kind: 'cron', expression: '0 8 * * 1', timezone: 'Europe/Berlin' },
        steps,
      });
      await visit({ path: `/flows/${id}`, colorScheme }, async (page) => {
        const cards = page.getByRole('list', { name: 'What the flow does' });
        assert.equal(await cards.getByRole('listitem').count(), 5);
        await cards.getByText('Every Monday at 08:00, Europe/Berlin').waitFor();
        await cards.getByText('Only if size(steps.all.output.data) > 1000').waitFor();
        await cards.getByText('Asks a person first').waitFor();
        await cards.getByRole('button', { name: /Get skill/ }).focus();
        await page.keyboard.press('Enter');
        await page.getByRole('region', { name: 'Step' }).getByText('{{ input.skill }}').waitFor();
        assert.deepEqual(await findingsOf(page), []);
        await page.keyboard.press('Enter');
        await page.getByRole('region', { name: 'Step' }).waitFor({ state: 'detached' });
      });
      await call('delete_flow', { id });
    });
  }

  for (const [where, viewport] of [
    ['wide', undefined],
    ['at 390 px', PHONE],
  ] as const) {
    it(`shows on the canvas what became of each step of a run, ${where}`, async () => {
      const { id } = await call('create_flow', { name: 'Look around', steps });
      const run = await call('trigger_flow', { id, input: { skill: 'skl_none' }, wait: true });
      await visit({ path: `/flows/${id}`, ...(viewport && { viewport }) }, async (page) => {
        await page.getByRole('link', { name: 'Show on the canvas' }).click();
        const cards = page.getByRole('list', { name: 'Steps of the run' });
        await cards.locator('.step-failed').getByText('Get skill').waitFor();
        await cards.locator('.step-succeeded').getByText('List skills').waitFor();
        await cards.locator('.step-skipped').getByText('List agents').waitFor();
        await cards.locator('.step-pending').getByText('List agents').waitFor();
        const side = page.getByRole('region', { name: 'Step one' });
        await side.getByText('"skl_none"').waitFor();
        await side.getByText('not_found').waitFor();
        assert.ok(await page.evaluate(inPage.fits));
        assert.deepEqual(await findingsOf(page), []);
        await cards.getByRole('button', { name: /Started by hand/ }).click();
        await page.getByRole('region', { name: 'Input' }).getByText('"skill"').waitFor();
        await page.getByRole('button', { name: 'Continue from here' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText('Runs again, with the same input: one, last.').waitFor();
        await dialog.getByText('Does not run again, its answer is kept: all, never.').waitFor();
        await dialog.getByRole('button', { name: 'From one' }).click();
        await page.waitForURL((url) => !url.search.includes(run.id));
        await cards.locator('.step-failed').waitFor();
      });
      const { data } = await call('list_flow_runs', { id });
      assert.deepEqual([data.length, data[0].retryOf], [2, run.id]);
      await call('delete_flow', { id });
    });
  }

  it('repairs the step that failed on what GitHub sent, with data of that delivery, and goes on with the run', async () => {
    const { id: skill } = await call('create_skill', { name: 'pushed', instructions: 'Read me.' });
    const { id } = await call('create_flow', {
      name: 'From GitHub',
      trigger: { kind: 'webhook' },
      steps: [
        { id: 'made', tool: 'create_memory', arguments: { content: 'Pushed to {{ input.repo }}' } },
        { id: 'one', tool: 'get_skill', arguments: { id: '{{ input.nothing | default: "skl_none" }}' } },
        { id: 'last', tool: 'list_agents' },
      ],
    });
    const url = `${dashboard.server.baseUrl}/api/v1/agents/flows/${id}/trigger`;
    let run: { readonly id: string; readonly steps: readonly object[] } | undefined;
    await visit(`/flows/${id}`, async (page, window) => {
      await page.getByRole('button', { name: 'Connect a sender' }).click();
      await page.getByRole('dialog').getByLabel('Secret').fill(github.secret);
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByText('Takes what GitHub signs.').waitFor();
      const sent = github.sign(JSON.stringify({ repo: 'acme/site', skill }), 0);
      assert.equal((await fetch(url, { method: 'POST', ...sent })).status, 202);
      await until(async () => (await call('list_flow_runs', { id })).data[0]?.status === 'failed');
      run = (await call('list_flow_runs', { id })).data[0];
      await window.go(`/flows/${id}?tab=runs&run=${run?.id}`);
      await page.getByText('A webhook arrived').waitFor();
      await page.getByRole('button', { name: 'Repair and continue' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Does not run again, its answer is kept: made.').waitFor();
      assert.equal(await page.getByText('Once you change').count(), 0, 'It is their own flow.');
      await dialog.getByRole('button', { name: 'Choose a value instead' }).click();
      await dialog
        .getByRole('button', { name: /^Take it from data/ })
        .first()
        .click();
      await dialog
        .getByRole('button', { name: /^Insert data/ })
        .first()
        .click();
      await dialog
        .getByRole('region', { name: /^Data for/ })
        .getByText('acme/site', { exact: true })
        .waitFor();
      await dialog.locator('.data-pick[title="input.skill"]').click();
      assert.deepEqual(await findingsOf(page), []);
      await dialog.getByRole('button', { name: 'Save and continue' }).click();
      await page.waitForURL((now) => !now.search.includes(String(run?.id)));
      await page.locator('.flow-card.step-succeeded').nth(2).waitFor();
    });
    const [continued] = (await call('list_flow_runs', { id })).data;
    assert.deepEqual([continued.status, continued.retryOf], ['succeeded', run?.id]);
    assert.deepEqual(continued.steps[0], run?.steps[0]);
    await call('delete_flow', { id });
    await call('delete_skill', { id: skill });
  });

  it('says whose rights a repaired flow no longer has, and lets nobody repair it who could not go on with its run', async () => {
    const key = await call('create_api_key', { name: 'Keeper', scopes: ['flows:read', 'flows:write', 'skills:read'] });
    const { id } = await mustCall(dashboard.server, key.secret, 'create_flow', {
      name: 'Kept',
      steps: steps.slice(2, 3),
    });
    const run = await call('trigger_flow', { id, input: { skill: 'skl_none' }, wait: true });
    const path = `/flows/${id}?tab=runs&run=${run.id}`;
    const warning = /^Once you change what the flow does, all its runs have your rights, no longer those of Keeper/;
    await visit(path, async (page) => {
      await page.getByRole('button', { name: 'Repair and continue' }).click();
      await page.getByRole('dialog').getByText(warning).waitFor();
    });
    const email = 'flows@example.com';
    await call('create_admin_user', { email, access: { scopes: ['flows:read', 'flows:write', 'skills:read'] } });
    await visit({ path, email }, async (page, window) => {
      await page.locator('.flow-card.step-failed').waitFor();
      await page.getByRole('button', { name: 'Continue from here' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Repair and continue' }).count(), 0);
      await window.go(`/flows/${id}/edit`);
      await page.getByText(warning).waitFor();
    });
    await call('delete_flow', { id });
  });

  it('follows a run that waits for a person, with a link to the approval, until it has ended', async () => {
    const { id } = await call('create_flow', { name: 'Asks', steps: steps.slice(3) });
    const run = await call('trigger_flow', { id, wait: true });
    assert.equal(run.status, 'waiting');
    await visit(`/flows/${id}?tab=runs&run=${run.id}`, async (page) => {
      await page.locator('.flow-card.step-waiting').waitFor();
      const link = page.getByRole('link', { name: 'Waiting for approval' });
      assert.match((await link.getAttribute('href')) ?? '', /\/approvals\/apv_/);
      await call('cancel_flow_run', { id: run.id });
      await page.locator('.flow-card.step-waiting').waitFor({ state: 'detached' });
    });
    await call('delete_flow', { id });
  });
});
