import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';
import { signIn } from '../../support/sign-in.ts';

const KEPT = 'JSON.stringify(sessionStorage)';

// together: one browser
describe('drafts of forms in the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer());
  const { call, visit, inWindow } = dashboard;

  it('offers what was not saved after another page and a reload, and forgets it once it is saved or given up', async () => {
    await visit('/skills/new', async (page, window) => {
      await page.getByLabel(/^Name/).fill('first-aid');
      await page.getByLabel('Instructions').fill('Keep calm.');
      await window.go('/agents');
      await window.go('/skills/new');
      const note = page.getByRole('region', { name: 'Unsaved draft' });
      await note.getByText(/You have an unsaved draft from \d\d:\d\d\./).waitFor();
      assert.equal(await page.getByLabel('Instructions').inputValue(), '');
      assert.deepEqual(await findingsOf(page), []);
      await page.reload();
      await note.getByRole('button', { name: 'Continue' }).click();
      assert.equal(await page.getByLabel('Instructions').inputValue(), 'Keep calm.');
      await page.getByRole('button', { name: 'Create skill' }).click();
      await page.getByText('was created.').waitFor();
      await window.go('/skills/new');
      await page.getByLabel('Instructions').fill('Nothing.');
      assert.equal(await note.count(), 0);
      await window.go('/skills');
      await window.go('/skills/new');
      await note.getByRole('button', { name: 'Discard' }).click();
      await page.getByRole('button', { name: 'Cancel' }).click();
      await window.go('/skills/new');
      await page.getByLabel('Instructions').waitFor();
      assert.equal(await note.count(), 0);
    });
  });

  it('keeps what was typed into each section of the settings, and into the prompt, until that one is saved', async () => {
    await visit('/settings?tab=workspace', async (page, window) => {
      const note = page.getByRole('region', { name: 'Unsaved draft' });
      const name = page.getByLabel('Name', { exact: true });
      const text = page.getByRole('textbox', { name: /^Text of/ }).first();
      await name.fill('Harbour');
      await page.getByRole('tab', { name: 'Prompt', exact: true }).click();
      await text.fill('Answer in one sentence.');
      await window.go('/settings?tab=money');
      await page.getByText('Exchange rates').first().waitFor();
      assert.equal(await note.count(), 0, 'of another section');
      await window.go('/settings?tab=prompt');
      await note.getByRole('button', { name: 'Continue' }).click();
      assert.equal(await text.inputValue(), 'Answer in one sentence.');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Every agent begins with it from now on.').waitFor();
      await window.go('/settings?tab=workspace');
      await note.getByRole('button', { name: 'Continue' }).click();
      assert.equal(await name.inputValue(), 'Harbour');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The settings are saved.').waitFor();
      await window.go('/settings?tab=prompt');
      await text.waitFor();
      assert.equal(await note.count(), 0, 'what was saved is no draft');
    });
    assert.equal((await call('get_settings')).workspaceName, 'Harbour');
  });

  it('keeps no secret in a draft, and says so', async () => {
    await visit('/connections/new', async (page, window) => {
      await page.getByRole('radio', { name: /^HTTP API/ }).check();
      await page.getByLabel('Display name').fill('Tickets');
      await page.getByLabel('Base URL').fill('https://tickets.example.com');
      await page.getByLabel('How').selectOption('basic');
      const secret = page.getByLabel('Password');
      await secret.fill('planted-secret-1');
      await window.go('/agents');
      const kept = await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })');
      assert.ok(String(kept).includes('tickets.example.com'), String(kept));
      assert.ok(!String(kept).includes('planted-secret-1'));
      await window.go('/connections/new');
      await page.getByText('Secrets are not kept in drafts, so type them again.').waitFor();
    });
  });

  it('shows both states where a draft is older than the record', async () => {
    const { id } = await call('create_skill', { name: 'tides', instructions: 'High at noon.' });
    await visit(`/skills/${id}/edit`, async (page, window) => {
      await page.getByLabel('Instructions').fill('Low at noon.');
      await window.go('/skills');
      await call('update_skill', { id, instructions: 'High at six.' });
      await window.go(`/skills/${id}/edit`);
      await page.getByText('The record was changed since: before yours is saved, you see both.').waitFor();
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('button', { name: 'Save' }).click();
      const dialog = page.getByRole('dialog', { name: 'Somebody else changed this meanwhile' });
      await dialog.getByText('Low at noon.').waitFor();
      assert.match((await dialog.textContent()) ?? '', /High at six/);
      assert.equal((await call('get_skill', { id })).instructions, 'High at six.');
      await dialog.getByRole('button', { name: 'Overwrite with mine' }).click();
      await page.getByText('was saved.').waitFor();
      await window.go(`/skills/${id}/edit`);
      await page.getByLabel('Instructions').waitFor();
      assert.equal(await page.getByRole('region', { name: 'Unsaved draft' }).count(), 0);
    });
    assert.equal((await call('get_skill', { id })).instructions, 'Low at noon.');
  });

  it('has what was typed when the session ended, once the person has signed in again', async () => {
    const { id } = await call('create_skill', { name: 'sails', instructions: 'Reef early.' });
    await inWindow(
      async (page, window) => {
        await window.open(`/skills/${id}/edit`);
        await page.getByLabel('Instructions').fill('Reef earlier.');
        // Only saving reaches the server, so that nothing else leads to the sign-in.
        await page.route('**/api/v1/mcp*', (route) => {
          const isSave = route.request().headers()['mcp-name'] === 'update_skill';
          return isSave ? route.continue() : route.abort();
        });
        await window.context.clearCookies();
        await page.getByRole('button', { name: 'Save' }).click();
        await page.waitForURL('**/sign-in**');
        await page.unroute('**/api/v1/mcp*');
        const [name = '', value = ''] = (await signIn(dashboard.server)).split('=');
        await window.context.addCookies([
          { name, value, url: dashboard.server.baseUrl, httpOnly: true, sameSite: 'Lax' },
        ]);
        await window.open(`/skills/${id}/edit`);
        await page.getByRole('button', { name: 'Continue' }).click();
        assert.equal(await page.getByLabel('Instructions').inputValue(), 'Reef earlier.');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('was saved.').waitFor();
        // The browser complains of the call without a session, as it should.
        (window.complaints as string[]).length = 0;
      },
      { fresh: true },
    );
    assert.equal((await call('get_skill', { id })).instructions, 'Reef earlier.');
  });

  it('forgets what was not saved once the person signs out', async () => {
    await inWindow(
      async (page, window) => {
        await window.open('/agents/new');
        await page.getByLabel('Display name').first().fill('Left behind');
        await window.go('/skills/new');
        await page.getByLabel('Instructions').fill('Open while leaving.');
        assert.match(String(await page.evaluate(KEPT)), /Left behind/);
        await page.locator('.person-button').click();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.waitForURL('**/sign-in**');
        assert.equal(await page.evaluate(KEPT), '{}');
      },
      { fresh: true },
    );
  });

  it('keeps what is typed while the server is away, and saves it once it is back', async () => {
    const { id } = await call('create_skill', { name: 'anchors', instructions: 'Drop one.' });
    await inWindow(
      async (page, window) => {
        await window.open(`/skills/${id}/edit`);
        await page.getByLabel('Instructions').fill('Drop two.');
        let isAway = true;
        await page.route('**/api/v1/mcp', (route) => (isAway ? route.abort() : route.continue()));
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('alert').getByText('The server cannot be reached.').first().waitFor();
        assert.equal(await page.getByLabel('Instructions').inputValue(), 'Drop two.');
        isAway = false;
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('was saved.').waitFor();
        (window.complaints as string[]).length = 0; // of the refused calls
      },
      { fresh: true },
    );
    assert.equal((await call('get_skill', { id })).instructions, 'Drop two.');
  });

  it('shows both states to the second of two tabs that change one record', async () => {
    const { id } = await call('create_skill', { name: 'flags', instructions: 'Red.' });
    await visit(`/skills/${id}/edit`, async (page, window) => {
      const other = await window.context.newPage();
      await other.goto(page.url());
      await other.getByLabel('Instructions').fill('Green.');
      await page.getByLabel('Instructions').fill('Blue.');
      await other.getByRole('button', { name: 'Save' }).click();
      await other.getByText('was saved.').waitFor();
      await page.getByRole('button', { name: 'Save' }).click();
      const dialog = page.getByRole('dialog', { name: 'Somebody else changed this meanwhile' });
      await dialog.getByText('Blue.').waitFor();
      assert.match((await dialog.textContent()) ?? '', /Green\./);
      await dialog.getByRole('button', { name: 'Discard my changes' }).click();
      await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
      await window.go(`/skills/${id}/edit`);
      await page.getByLabel('Instructions').waitFor();
      assert.equal(await page.getByRole('region', { name: 'Unsaved draft' }).count(), 0);
      await other.close();
    });
    assert.equal((await call('get_skill', { id })).instructions, 'Green.');
  });
});
