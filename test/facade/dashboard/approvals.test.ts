import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { capsuleClients } from '../../support/capsules.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, PHONE, testDashboard, WIDE } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';

// together: one browser
describe('approvals in the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer());
  const { call, visit } = dashboard;
  const capsules = capsuleClients(() => dashboard.server);

  it('show who asks for what and what it would change, and why one’s own cannot be decided', async () => {
    const skill = await call('create_skill', { name: 'refunds', instructions: 'Within 5 days.' });
    const capsule = await capsules.make({ name: 'Partner', allowedTools: ['update_skill'], askFirst: ['*'] });
    const asked = await capsules.call(capsule, 'update_skill', { id: skill.id, instructions: 'Within 3 days.' });
    assert.equal(asked.code, 'approval_required');
    for (const viewport of [WIDE, PHONE])
      await visit({ path: `/approvals/${asked.approvalId}`, viewport }, async (page) => {
        await page.getByRole('heading', { name: 'Update skill' }).waitFor();
        await page.getByText('Within 5 days.').waitFor();
        assert.deepEqual(await findingsOf(page), []);
        if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-${viewport.width}.png` });
      });
    // The capsule acts for the person who is signed in.
    await visit(`/approvals/${asked.approvalId}`, async (page) => {
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('alert').getByText('You asked for this call, or what asked acts for you').waitFor();
    });
    assert.equal((await call('get_skill', { id: skill.id })).instructions, 'Within 5 days.');
  });
});
