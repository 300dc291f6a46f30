import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { capsuleClients } from '../../support/capsules.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, inPage, PHONE, testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';

// together: one browser
describe('pages that follow what happens', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer());
  const { call, visit } = dashboard;
  const capsules = capsuleClients(() => dashboard.server);
  const ask = (text: string) => call('invoke_agent', { agent: 'rex', input: text });
  before(async () => {
    const members = { displayName: 'Rex', modelPreference: 'offline/rehearsal', tools: ['list_skills'] };
    await call('create_agent', { name: 'rex', ...members });
    await ask('Hello');
  });

  it('show new runs without being loaded again, and what was missed while the server was away', async () => {
    await visit('/runs', async (page) => {
      const rows = page.getByRole('table', { name: 'Runs' }).locator('tbody tr');
      await rows.first().waitFor();
      const before = await rows.count();
      await page.evaluate('globalThis.isSame = true');
      await ask('Again');
      await rows.nth(before).waitFor();
      let isAway = true;
      await page.route('**/api/v1/mcp', (route) => (isAway ? route.abort() : route.fallback()));
      await ask('Missed');
      await page.waitForRequest((request) => request.headers()['mcp-name'] === 'list_agent_runs');
      assert.equal(await rows.count(), before + 1, 'what was there stays');
      isAway = false;
      await rows.nth(before + 1).waitFor();
      assert.equal(await page.evaluate('globalThis.isSame'), true);
    });
  });

  it('show the use of a capsule as it comes', async () => {
    const capsule = await capsules.make({ name: 'Partner', allowedTools: ['list_skills'] });
    await visit(`/capsules/${capsule.id}?tab=use`, async (page) => {
      await capsules.call(capsule, 'list_skills', {});
      await page.locator('.detail-pane').getByRole('cell', { name: 'list_skills' }).first().waitFor();
      await page.locator('.detail-pane').getByText('1 call', { exact: true }).waitFor();
    });
  });

  it('leave out what the dashboard itself reads, until that is asked for', async () => {
    const first = await capsules.make({ name: 'Reader', allowedTools: ['list_skills'] });
    await capsules.call(first, 'list_skills', {});
    for (const options of [{}, { viewport: PHONE, colorScheme: 'dark' as const }])
      await visit({ path: '/audit?changes=false', ...options }, async (page) => {
        if ('viewport' in options) await page.getByRole('button', { name: 'Filters', exact: true }).click();
        const own = page.getByLabel('Without the dashboard’s own reads');
        assert.equal(await own.isChecked(), true);
        const doors = page.getByRole('table', { name: 'Audit entries' });
        await doors.locator('tbody tr').first().waitFor();
        assert.equal(await doors.getByText('list_audit_entries').count(), 0);
        assert.deepEqual(await findingsOf(page), []);
        assert.ok(await page.evaluate(inPage.fits));
        await own.uncheck();
        await doors.getByText('list_audit_entries').first().waitFor();
      });
    await visit('/usage?by=tool', async (page) => {
      const table = page.getByRole('table', { name: 'Usage by tool' });
      await table.getByText('list_skills').waitFor();
      assert.equal(await table.getByText('list_audit_entries').count(), 0);
      assert.deepEqual(await findingsOf(page), []);
      await page.getByLabel('Without the dashboard’s own reads').uncheck();
      await table.getByText('list_audit_entries').waitFor();
    });
  });
});
