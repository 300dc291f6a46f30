import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { capsuleClients } from '../../support/capsules.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, PHONE, testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';

// together: one browser
describe('undoing in the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer());
  const { call, visit } = dashboard;
  const capsules = capsuleClients(() => dashboard.server);

  it('shows what a capsule changed before it puts that back, and what stays', async () => {
    const skill = await call('create_skill', {
      name: 'refunds',
      displayName: 'Refunds',
      instructions: 'Within 5 days.',
    });
    const other = await call('create_skill', { name: 'tone', displayName: 'Tone', instructions: 'Be kind.' });
    const capsule = await capsules.make({ name: 'Partner', allowedTools: ['update_skill', 'create_project'] });
    await capsules.call(capsule, 'update_skill', { id: skill.id, instructions: 'Within 3 days.' });
    await capsules.call(capsule, 'update_skill', { id: other.id, instructions: 'Be short.' });
    await capsules.call(capsule, 'create_project', { name: 'Theirs' });
    await call('update_skill', { id: other.id, instructions: 'Be kind and short.' });
    for (const viewport of [{ width: 1440, height: 900 }, PHONE])
      await visit({ path: `/capsules/${capsule.id}?tab=use`, viewport }, async (page) => {
        await page.getByRole('button', { name: 'Undo changes' }).click();
        const dialog = page.getByRole('dialog', { name: 'Undo changes' });
        await dialog.getByText('Refunds').click();
        await dialog.getByText('Within 5 days.').waitFor();
        assert.match((await dialog.textContent()) ?? '', /Stays as it is.*Tone.*Revision 3 is a later change by /);
        assert.deepEqual(await findingsOf(page), []);
        if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-${viewport.width}.png` });
        if (viewport !== PHONE) return;
        await dialog.getByRole('button', { name: 'Undo in 2 records' }).click();
        await page.getByText('2 records put back.').waitFor();
      });
    assert.equal((await call('get_skill', { id: skill.id })).instructions, 'Within 5 days.');
    assert.deepEqual((await call('list_projects', {})).data, []);
  });

  it('takes back what a run of an agent did, and says when there is nothing', async () => {
    await call('create_agent', {
      ...{ name: 'rex', displayName: 'Rex', modelPreference: 'offline/rehearsal', tools: ['create_skill'] },
    });
    const { runId } = await call('invoke_agent', { agent: 'rex', input: '/create_skill {"name": "made by rex"}' });
    await visit(`/runs/${runId}`, async (page) => {
      const begin = () => page.getByRole('button', { name: 'Undo changes' }).click();
      await begin();
      await page.getByText('is deleted again').waitFor();
      await page.getByRole('button', { name: 'Undo in 1 record' }).click();
      await page.getByText('1 record put back.').waitFor();
      await begin();
      await page.getByText('Nothing to undo').waitFor();
    });
  });
});
