import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { capsuleClients } from '../../support/capsules.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, PHONE, testDashboard, WIDE } from '../../support/dashboard.ts';
import { cookieOf, postIdToken } from '../../support/sign-in.ts';
import { writing } from '../../support/writing.ts';
import { ADA, signInByMail, startWorkspace, type Workspace } from '../sign-in/workspace.ts';

// together: one browser
describe('approvals in the dashboard', { skip: withoutBrowser }, () => {
  let workspace: Workspace;
  const dashboard = testDashboard(async () => {
    workspace = await startWorkspace();
    return workspace;
  });
  const { call, visit } = dashboard;
  const capsules = capsuleClients(() => dashboard.server);

  /** The session of a person with whom the key of the test has nothing to do. */
  let ada: string;
  const sessionOfAda = async () => {
    const client = await signInByMail(workspace);
    return /admin-session=[^;]+/.exec(client.cookieHeader(workspace.baseUrl))?.[0] ?? '';
  };
  let partner: Awaited<ReturnType<typeof capsules.make>>;
  before(async () => {
    ada = await sessionOfAda();
    const allowedTools = ['update_skill', 'wait_for_approval'];
    partner = await capsules.make({ name: 'Partner', allowedTools, askFirst: ['update_skill'] });
  });

  async function asked(name: string) {
    const skill = await call('create_skill', { name, instructions: 'Within 5 days.' });
    const change = { id: skill.id, instructions: 'Within 3 days.' };
    const { code, approvalId } = await capsules.call(partner, 'update_skill', change);
    assert.equal(code, 'approval_required');
    return { skill, change, approvalId, path: `/approvals/${approvalId}` };
  }

  async function nothingWaits() {
    for (const { id } of (await call('list_approvals', { limit: 100 })).data) {
      await dashboard.server.store.transaction((tx) => tx.approvals.delete(id));
    }
  }

  it('show who asks for what and what it would change, and why one’s own cannot be decided', async () => {
    const { path } = await asked('own');
    for (const viewport of [WIDE, PHONE])
      await visit({ path, viewport }, async (page) => {
        await page.getByRole('heading', { name: 'Update skill' }).waitFor();
        await page.getByText('Within 5 days.').waitFor();
        // The capsule acts for the person who is signed in.
        await page.getByText('You cannot decide this call').waitFor();
        assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
        assert.equal(await page.getByText('for your decision').count(), 0);
        assert.deepEqual(await findingsOf(page), []);
      });
  });

  it('tell who came by a link of who asks to sign in anew', async () => {
    const { path } = await asked('by link');
    const { idToken } = await call('create_sign_in_link', { email: ADA });
    const cookie = cookieOf(await postIdToken(dashboard.server, idToken));
    for (const viewport of [WIDE, PHONE])
      await visit({ path, cookie, viewport }, async (page) => {
        await page.getByText('You signed in by a link that admin@localhost made').waitFor();
        assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
        assert.deepEqual(await findingsOf(page), []);
        if (viewport === WIDE) return;
        await page.getByRole('button', { name: 'Sign out, then in anew' }).click();
        await page.getByLabel('Email').waitFor();
      });
  });

  it('say plainly where nobody can decide, and what to do', async () => {
    const { path } = await asked('alone');
    await call('deactivate_admin_user', { id: workspace.adaId });
    try {
      for (const viewport of [WIDE, PHONE])
        await visit({ path, viewport }, async (page) => {
          await page.getByText('Nobody here can decide this call.').waitFor();
          const invite = page.getByRole('link', { name: 'Invite a colleague' });
          assert.equal(await invite.getAttribute('href'), '/people/new?access=full');
          await page.getByText('have Partner capsule no longer ask before this call').waitFor();
          assert.deepEqual(await findingsOf(page), []);
          if (process.env.PICTURE)
            await page.screenshot({ path: `${process.env.PICTURE}-nobody-${viewport.width}.png` });
        });
      await visit('/', async (page, window) => {
        const card = page.getByRole('region', { name: 'Needs your attention' });
        await card.getByText('asks: Update skill, which nobody can decide').first().waitFor();
        await page.locator('.nav-link', { hasText: 'Approvals' }).getByText('nobody can decide').waitFor();
        await window.go('/people/new?access=full');
        await page.getByRole('radio', { name: /^Full access/, checked: true }).waitFor();
        await window.go('/agents/new');
        await page.getByRole('button', { name: 'Ask a person first' }).click();
        assert.equal(await page.getByText('Nobody else can approve yet').count(), 0);
        const asks = page.getByRole('group', { name: 'Ask a person first' });
        await asks.getByRole('searchbox', { name: 'Find tools' }).fill('list skills');
        await page.keyboard.press('Enter');
        await page.getByText('Nobody else can approve yet').waitFor();
        assert.deepEqual(await findingsOf(page), []);
      });
    } finally {
      await call('reactivate_admin_user', { id: workspace.adaId });
      ada = await sessionOfAda();
    }
  });

  it('reach another person at once, who decides; its caller and everybody who looks see it without asking again', async () => {
    await nothingWaits();
    await visit({ path: '/', cookie: ada }, async (page) => {
      const entry = page.locator('.nav-link', { hasText: 'Approvals' });
      assert.equal(await entry.textContent(), 'Approvals');
      const { change, path, approvalId } = await asked('refunds');
      const waiting = capsules.call(partner, 'wait_for_approval', { id: approvalId, seconds: 60 });
      await entry.getByText('1 waits for your decision').waitFor();
      const card = page.getByRole('region', { name: 'Needs your attention' });
      await card.getByText('Partner').waitFor();
      if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-home-${WIDE.width}.png` });
      assert.deepEqual(await findingsOf(page), []);
      await visit(path, async (other) => {
        await other.getByText('You cannot decide this call').waitFor();
        await card.getByRole('link').filter({ hasText: 'Update skill' }).click();
        await page.getByRole('insertion').getByText('Within 3 days.').waitFor();
        assert.deepEqual(await findingsOf(page), []);
        if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-page-${WIDE.width}.png` });
        await page.getByLabel('Note for who asked').fill('Fine.');
        await page.getByRole('button', { name: 'Approve' }).click();
        const { status, note, answer } = await waiting;
        assert.deepEqual([status, note, answer?.instructions], ['done', 'Fine.', 'Within 3 days.']);
        await other.locator('h1').getByText('Done').waitFor();
      });
      await page.locator('h1').getByText('Done').waitFor();
      await page.waitForFunction(`document.querySelector('.nav-count') === null`);
      assert.equal((await call('get_skill', { id: change.id })).instructions, 'Within 3 days.');
    });
  });

  it('are counted on a phone too, where the navigation is folded away', async () => {
    await nothingWaits();
    const { approvalId } = await asked('phone');
    await visit({ path: '/', cookie: ada, viewport: PHONE }, async (page) => {
      await page.getByRole('region', { name: 'Needs your attention' }).waitFor();
      if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-home-${PHONE.width}.png` });
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('link', { name: '1 waits for your decision', exact: true }).click();
      await page.getByRole('heading', { name: 'Approvals' }).waitFor();
      await page.getByRole('link', { name: 'Update skill' }).click();
      await page.getByRole('button', { name: 'Reject' }).click();
      await page.locator('h1').getByText('Rejected').waitFor();
      assert.equal(await page.locator('.bar .nav-count').count(), 0);
    });
    assert.equal((await call('get_approval', { id: approvalId })).status, 'rejected');
  });

  it('are asked for by the calls of a connected app, from its page', async () => {
    const { data } = await dashboard.call('list_admin_users', {});
    const app = await writing(dashboard.server.store).connectedApps.insert({
      clientId: 'https://claude.ai/me',
      client: { name: 'Claude', host: 'claude.ai', verified: true },
      resource: `${dashboard.server.baseUrl}/api/v1/mcp`,
      scopes: ['write'],
      userId: data[0].id,
      askFirst: ['delete_*'],
    });
    const kept = async () => (await dashboard.server.store.connectedApps.get(app.id))?.askFirst;
    await dashboard.visit(`/apps/${app.id}`, async (page) => {
      await page.getByRole('button', { name: 'Ask first' }).click();
      const dialog = page.getByRole('dialog', { name: 'What Claude asks first' });
      await dialog.getByLabel('Update skill').check();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('delete_*, update_skill').waitFor();
      assert.deepEqual(await kept(), ['delete_*', 'update_skill']);
      await page.getByRole('button', { name: 'Ask first' }).click();
      for (const entry of ['delete_*', 'update_skill'])
        await dialog.getByRole('button', { name: `Remove ${entry}` }).click();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('delete_*, update_skill').waitFor({ state: 'detached' });
      assert.deepEqual(await kept(), []);
    });
  });
});
