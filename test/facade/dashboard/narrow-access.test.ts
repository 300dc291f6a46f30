import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mustCall, rest } from '../../support/calls.ts';
import { capsuleClients } from '../../support/capsules.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, PHONE, testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';
import { secretIn } from './journeys-access.ts';

// together: one browser
describe('narrowing access in the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer());
  const { call, visit } = dashboard;
  const capsules = capsuleClients(() => dashboard.server);

  it('shows what a capsule never used, tries the smallest access on its calls, and takes it', async () => {
    const capsule = await capsules.make({ name: 'Partner', allowedTools: ['*_skill', '*_skills', 'create_project'] });
    await capsules.call(capsule, 'create_skill', { name: 'theirs' });
    await capsules.call(capsule, 'list_skills');
    for (const viewport of [{ width: 1440, height: 900 }, PHONE])
      await visit({ path: `/capsules/${capsule.id}?tab=use`, viewport }, async (page) => {
        await page.getByRole('button', { name: 'Narrow access' }).click();
        const dialog = page.getByRole('dialog', { name: 'Narrow access' });
        await dialog.getByText('None of them would have been refused.').waitFor();
        const text = (await dialog.textContent()) ?? '';
        assert.match(text, /Never used 4.*delete_skill.*create_project.*Smallest access/);
        assert.match(text, /Smallest access 2list_skillscreate_skillTried on 2 calls/);
        assert.deepEqual(await findingsOf(page), []);
        assert.equal(await page.evaluate("getComputedStyle(document.querySelector('dialog')).borderTopWidth"), '0px');
        if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-${viewport.width}.png` });
        if (viewport !== PHONE) return;
        await dialog.getByRole('button', { name: 'Take the smallest access' }).click();
        await page.getByText('It may do now what it did, and no more.').waitFor();
      });
    assert.deepEqual((await call('get_capsule', { id: capsule.id })).allowedTools.sort(), [
      'create_skill',
      'list_skills',
    ]);
    assert.equal((await capsules.call(capsule, 'create_project', { name: 'x' })).code, 'forbidden');
  });

  it('makes a key with the smallest access, as the rights of one never change', async () => {
    const { id, secret } = await call('create_api_key', { name: 'Importer', scopes: ['read', 'write'] });
    await mustCall(dashboard.server, secret, 'list_skills');
    await visit(`/keys/${id}?tab=explain`, async (page) => {
      await page.getByRole('button', { name: 'Narrow access' }).click();
      const dialog = page.getByRole('dialog', { name: 'Narrow access' });
      await dialog.getByText('None of them would have been refused.').waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await dialog.getByRole('button', { name: 'Make a key with the smallest access' }).click();
      const less = await secretIn(page);
      assert.deepEqual((await mustCall(dashboard.server, less, 'list_skills')).data.length > 0, true);
      assert.equal((await rest(dashboard.server, 'GET', '/api/v1/agents', { key: less })).status, 403);
    });
  });

  it('says where nothing was called', async () => {
    const { id } = await call('create_agent', { name: 'idle', displayName: 'Idle', tools: ['list_skills'] });
    await visit(`/agents/${id}?tab=tools`, async (page) => {
      await page.getByRole('button', { name: 'Narrow access' }).click();
      const dialog = page.getByRole('dialog', { name: 'Narrow access' });
      await dialog.getByText('No calls to go by').waitFor();
      assert.ok(await dialog.getByRole('button', { name: 'Take the smallest access' }).isDisabled());
    });
  });
});
