import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Frame } from 'playwright-core';
import { makeKey, mustCall } from '../../support/calls.ts';
import { openBrowser, withoutBrowser } from '../../support/chromium.ts';
import { findingsOf } from '../../support/dashboard.ts';
import { startDemoServer } from '../../support/demo.ts';
import { FULL } from '../../support/full.ts';
import type { TestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import { type HostWindow, openHost, startViewHost, type ViewHost } from '../../support/view-host.ts';

// together: one browser
if (withoutBrowser) console.log(`SKIPPED: pages in a host (MCP Apps), for ${withoutBrowser}.`);

/** The place of the report whose cells are coloured, among those of the demo. */
const RETENTION = 2;
const PLANTED = '</script><img src=x onerror="globalThis.planted=1"><script>planted=1</script>';

/** In the page of the host: a frame beside the page sends it an answer; the host sends requests, whose answers it gives back. */
const FROM_A_STRANGER = `new Promise((resolve) => {
  const answers = [];
  addEventListener('message', ({ data }) => {
    if (data?.id === 'a' || data?.id === 'b') answers.push(data);
    if (data?.id === 'b') resolve(answers);
  });
  const stranger = document.createElement('iframe');
  const planted = { jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: { structuredContent: { data: [{ id: 'x', type: 'agent', title: 'Planted', snippet: 'Planted' }], facets: {} }, content: [] } };
  stranger.srcdoc = '<script>parent.frames[0].postMessage(' + JSON.stringify(planted) + ', "*"); parent.postMessage("sent", "*")</' + 'script>';
  addEventListener('message', ({ data }) => {
    if (data !== 'sent') return;
    frames[0].postMessage({ jsonrpc: '2.0', id: 'a', method: 'no/such', params: {} }, '*');
    frames[0].postMessage({ jsonrpc: '2.0', id: 'b', method: 'ping' }, '*');
  });
  document.body.append(stranger);
})`;

describe('pages in a host', { skip: withoutBrowser }, () => {
  let host: ViewHost;
  let server: TestServer;
  let browser: Browser;
  before(async () => {
    host = await startViewHost();
    [server, browser] = await Promise.all([startDemoServer({ ALLOWED_ORIGINS: host.origin }), openBrowser()]);
  });
  after(async () => {
    await server?.close();
    await host?.close();
  });

  const call = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);

  /** A host for the time of a test, in which nothing may be complained of, and whose chat nobody wrote into. */
  async function inHost(work: (window: HostWindow) => Promise<void>, token = server.adminKey): Promise<void> {
    const window = await openHost(browser, host, { url: `${server.baseUrl}/api/v1/mcp`, token });
    try {
      await work(window);
      assert.deepEqual(window.complaints, []);
      assert.deepEqual((await window.asked()).messages, []);
    } finally {
      await window.close();
    }
  }

  function frameOf({ page }: HostWindow): Frame {
    return page.frames()[1] ?? assert.fail('No page is shown.');
  }

  it('show a metric with its numbers, and other ranges by calls through the host', async () => {
    const expected = await call('get_mrr', { compare: 'previous' });
    await inHost(async (window) => {
      const { view } = window;
      await window.show('get_mrr', {});
      await view.getByRole('heading', { name: 'Recurring revenue' }).waitFor();
      assert.ok((await view.locator('canvas').count()) > 0);
      assert.equal(await view.getByRole('table', { name: 'Movements' }).getByRole('row').count(), 13);
      assert.deepEqual((await window.asked()).calls, [], 'the answer is there already');
      await view.getByRole('button', { name: 'Previous period' }).click();
      await view.getByText(`${expected.previous.from} to`).first().waitFor();
      const { from, to } = expected.previous;
      const { calls } = await window.asked();
      assert.ok(
        calls.some(({ name, arguments: given }) => name === 'get_mrr' && given.from === from && given.to === to),
        JSON.stringify(calls),
      );
      await view.getByRole('button', { name: 'Next period' }).click();
      await view.getByText(`${expected.range.from} to`).first().waitFor();
      await view.getByText('Week', { exact: true }).click();
      await view.getByText(/by week$/).waitFor();
      await view.getByRole('button', { name: 'Show the numbers as a table' }).first().click();
      await view.getByRole('table', { name: 'Monthly recurring revenue' }).waitFor();
      assert.deepEqual(await findingsOf(frameOf(window)), []);
    });
  });

  it('wear the theme of the host and are as high as what they show', async () => {
    await inHost(async (window) => {
      const { view, page } = window;
      await page.emulateMedia({ colorScheme: 'dark' });
      const variables = { '--color-text-primary': 'rgb(1, 2, 3)' };
      await window.show('get_overview', {}, { theme: 'light', variables });
      const colour = (of: string) => frameOf(window).evaluate(`getComputedStyle(document.body).${of}`);
      assert.equal(await colour('backgroundColor'), 'rgb(255, 255, 255)', 'not that of the system');
      assert.equal(await colour('color'), 'rgb(1, 2, 3)');
      assert.deepEqual(await findingsOf(frameOf(window)), []);
      const high = (await window.asked()).heights.at(-1) ?? 0;
      assert.equal((await page.locator('iframe').boundingBox())?.height, high);
      assert.ok(high > 500, String(high));
      await window.setTheme('dark');
      await view.locator('html[data-theme="dark"]').waitFor();
      assert.equal(await colour('colorScheme'), 'dark');
      await window.show('search', { q: 'zzqxvw' }, { theme: 'dark' });
      await view.getByText('Nothing found').waitFor();
      assert.ok(((await window.asked()).heights.at(-1) ?? high) < 400);
      assert.deepEqual(await findingsOf(frameOf(window)), []);
    });
  });

  it('show texts of records as the texts they are, also where the host passes on text alone', async () => {
    const skill = await call('create_skill', { name: PLANTED, instructions: PLANTED });
    await inHost(async (window) => {
      const { view } = window;
      const noMarkup = async () => {
        await view.getByText('<img src=x').first().waitFor();
        assert.equal(await frameOf(window).evaluate('"planted" in globalThis'), false);
        assert.equal(await view.locator('img, #app script').count(), 0);
        assert.deepEqual(await findingsOf(frameOf(window)), []);
      };
      await window.show('search', { q: 'planted', types: ['skill'] }, { withoutStructure: true });
      await noMarkup();
      await view.getByRole('button', { name: /^<\/script>/ }).click();
      await view.getByRole('button', { name: 'All hits' }).waitFor();
      await noMarkup();
      await view.getByRole('link', { name: 'Open in the dashboard' }).click();
      await until(async () => (await window.asked()).links.length > 0);
      assert.deepEqual((await window.asked()).links, [`${server.baseUrl}/skills/${skill.id}`]);
      const { data } = await call('list_versions', { entityType: 'skill', entityId: skill.id });
      const named = { entityType: 'skill', entityId: skill.id, versionId: data[0].id };
      await window.show('diff_version', named, { withoutStructure: true });
      await noMarkup();
    });
    await call('delete_skill', { id: skill.id });
  });

  it('restore a state after a question, and only what was there when it was shown', async () => {
    const { id } = await call('create_skill', { name: 'states', instructions: 'One.' });
    await call('update_skill', { id, instructions: 'Two.' });
    const { data } = await call('list_versions', { entityType: 'skill', entityId: id });
    const first = { entityType: 'skill', entityId: id, versionId: data[1].id };
    await inHost(async (window) => {
      const { view } = window;
      await window.show('diff_version', first);
      const restore = async () => {
        await view.getByRole('button', { name: 'Restore' }).first().click();
        const dialog = view.getByRole('dialog', { name: 'Restore revision 1?' });
        await dialog.waitFor();
        assert.deepEqual(await findingsOf(frameOf(window)), []);
        assert.equal(
          (await window.asked()).calls.some(({ name }) => name === 'restore_version'),
          false,
        );
        await dialog.getByRole('button', { name: 'Restore' }).click();
        return dialog;
      };
      await call('update_skill', { id, instructions: 'Three.' });
      const refused = await restore();
      await refused
        .getByText(/changed|revision/i)
        .nth(1)
        .waitFor();
      const made = (await window.asked()).calls.filter(({ name }) => name === 'restore_version');
      assert.deepEqual(made, [{ name: 'restore_version', arguments: { ...first, expectedRevision: 2 } }]);
      assert.equal((await call('get_skill', { id })).instructions, 'Three.');
      await window.show('diff_version', first);
      await restore();
      await view.getByText('Revision 1 is back.').waitFor();
      assert.equal((await call('get_skill', { id })).instructions, 'One.');
    });
    await call('delete_skill', { id });
  });

  it('offer what the reader may do, and say why a call was refused', async () => {
    const { id } = await call('create_skill', { name: 'mine', instructions: 'One.' });
    await call('update_skill', { id, instructions: 'Two.' });
    const { data } = await call('list_versions', { entityType: 'skill', entityId: id });
    const first = { entityType: 'skill', entityId: id, versionId: data[1].id };
    const reader = await makeKey(server, { scopes: ['read'] });
    await inHost(async ({ view, show }) => {
      await show('diff_version', first);
      await view.getByRole('button', { name: 'Revision 1' }).waitFor();
      assert.equal(await view.getByRole('button', { name: 'Restore' }).count(), 0);
    }, reader);
    const other = await makeKey(server, { grants: ['skill:read', 'skill:write:skl_other'] });
    await inHost(async ({ view, show }) => {
      await show('diff_version', first);
      await view.getByRole('button', { name: 'Restore' }).click();
      await view.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
      await view.getByRole('alert').getByText('Insufficient permissions').waitFor();
      await view.getByText(`grant skill:write:${id}`).waitFor();
    }, other);
    await call('delete_skill', { id });
  });

  it('show a run with its steps, and start it again after a question', async () => {
    const flow = await call('create_flow', {
      name: 'list the skills',
      steps: [{ id: 'skills', tool: 'list_skills', arguments: { limit: 1 } }],
    });
    const run = await call('trigger_flow', { id: flow.id, input: { a: PLANTED }, wait: true });
    await inHost(async (window) => {
      const { view } = window;
      await window.show('get_flow_run', { id: run.id });
      await view.getByText('List skills').waitFor();
      assert.deepEqual(await findingsOf(frameOf(window)), []);
      await view.getByRole('button', { name: 'Run again' }).click();
      const dialog = view.getByRole('dialog', { name: 'Run the flow again?' });
      await dialog.getByText('<img src=x').waitFor();
      await dialog.getByRole('button', { name: 'Run', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
      const made = (await window.asked()).calls.filter(({ name }) => name === 'trigger_flow');
      assert.deepEqual(made, [{ name: 'trigger_flow', arguments: { id: flow.id, input: { a: PLANTED } } }]);
      await view.getByRole('link', { name: 'All runs' }).click();
      await view.getByRole('row').nth(2).waitFor();
      assert.equal((await call('list_flow_runs', { id: flow.id })).data.length, 2);
      await view.getByRole('row').nth(1).getByRole('link').click();
      await view.getByText('Succeeded').first().waitFor();
    });
  });

  it('show more hits of a search, and what a report answers', async () => {
    const { data: reports } = await call('list_reports');
    await inHost(async (window) => {
      const { view } = window;
      await window.show('search', { q: 'customer', limit: 2 });
      assert.equal(await view.locator('.hit').count(), 2);
      await view.getByRole('button', { name: 'Load more' }).click();
      await view.locator('.hit').nth(3).waitFor();
      for (const [index, { id, title }] of reports.entries()) {
        await window.show('get_report', { id, render: true });
        await view.getByRole('heading', { name: title }).waitFor();
        assert.equal(await view.getByRole('alert').count(), 0, title);
        // axe takes seconds; reports are shown by the same parts.
        if (FULL || index === RETENTION) assert.deepEqual(await findingsOf(frameOf(window)), [], title);
      }
    });
  });

  it('hear their host alone, and say why a call failed', async () => {
    await inHost(async (window) => {
      const { view, page } = window;
      await window.show('get_report', { id: 'rep_none' });
      await view.getByRole('alert').getByText('There is no report rep_none').waitFor();
      await window.show('search', { q: 'customer', limit: 2 });
      const answers = await page.evaluate(FROM_A_STRANGER);
      assert.deepEqual(answers, [
        { jsonrpc: '2.0', id: 'a', error: { code: -32601, message: 'Method not found' } },
        { jsonrpc: '2.0', id: 'b', result: {} },
      ]);
      assert.equal(await view.getByText('Planted').count(), 0);
      assert.equal(await view.locator('.hit').count(), 2);
    });
  });

  it('show what there is in a host that passes on no calls', async () => {
    const { data } = await call('list_agents', { limit: 1 });
    const { data: versions } = await call('list_versions', { entityType: 'agent', entityId: data[0].id });
    await inHost(async (window) => {
      const { view } = window;
      const capabilities = {};
      await window.show('get_mrr', {}, { capabilities });
      await view.getByRole('heading', { name: 'Recurring revenue' }).waitFor();
      await window.show(
        'diff_version',
        { entityType: 'agent', entityId: data[0].id, versionId: versions[0].id },
        { capabilities },
      );
      await view.locator('.side-row').first().waitFor();
      await window.show('search', { q: 'customer', limit: 2 }, { capabilities });
      await view.locator('.hit').first().waitFor();
      assert.equal(await view.getByRole('button').count(), 0);
      assert.deepEqual((await window.asked()).calls, []);
    });
  });
});
