import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { withoutBrowser } from '../../support/chromium.ts';
import { testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';

const noteIn = (page: Page) => page.getByRole('region', { name: 'Unsaved draft' });
const dialogIn = (page: Page) => page.getByRole('dialog', { name: 'Somebody else changed this meanwhile' });
const nameIn = (page: Page) => page.getByLabel('Name', { exact: true });
const save = (page: Page) => page.getByRole('button', { name: 'Save' }).click();
const CHANGED = /were changed since\. Where both changed the same, you see both before yours are saved/;

// together: one browser
describe('drafts of settings that somebody else changed', { skip: withoutBrowser }, () => {
  const { call, visit } = testDashboard(() => startTestServer());

  it('shows both before it overwrites what somebody else saved, and keeps the rest of that', async () => {
    await visit('/settings?tab=workspace', async (page, window) => {
      await nameIn(page).fill('Harbour');
      await window.go('/settings?tab=money');
      await page.getByText('Exchange rates').first().waitFor();
      await call('update_settings', { workspaceName: 'Lighthouse', timezone: 'Europe/Berlin' });
      await window.go('/settings?tab=workspace');
      await noteIn(page).getByText(CHANGED).waitFor();
      await noteIn(page).getByRole('button', { name: 'Continue' }).click();
      await save(page);
      await dialogIn(page).getByText('Harbour').first().waitFor();
      assert.match((await dialogIn(page).textContent()) ?? '', /Lighthouse/);
      assert.equal((await call('get_settings')).workspaceName, 'Lighthouse');
      await dialogIn(page).getByRole('button', { name: 'Overwrite with mine' }).click();
      await page.getByText('The settings are saved.').waitFor();
      await dialogIn(page).waitFor({ state: 'detached' });
      assert.equal(await noteIn(page).count(), 0);
    });
    const { workspaceName, timezone } = await call('get_settings');
    assert.deepEqual([workspaceName, timezone], ['Harbour', 'Europe/Berlin']);
  });

  it('keeps a draft through the dialog, and takes what was saved where the person says so', async () => {
    await visit('/settings?tab=workspace', async (page, window) => {
      await nameIn(page).fill('Quay');
      await window.go('/agents');
      await call('update_settings', { workspaceName: 'Dock' });
      await window.open('/settings?tab=workspace');
      await noteIn(page).getByRole('button', { name: 'Continue' }).click();
      await save(page);
      await dialogIn(page).waitFor();
      await page.keyboard.press('Escape');
      assert.equal(await nameIn(page).inputValue(), 'Quay');
      await window.open('/settings?tab=workspace');
      await noteIn(page).getByText(CHANGED).waitFor();
      await noteIn(page).getByRole('button', { name: 'Continue' }).click();
      await save(page);
      await dialogIn(page).getByRole('button', { name: 'Discard my changes' }).click();
      await until(async () => (await nameIn(page).inputValue()) === 'Dock');
      await window.open('/settings?tab=workspace');
      await nameIn(page).waitFor();
      assert.equal(await noteIn(page).count(), 0);
    });
    assert.equal((await call('get_settings')).workspaceName, 'Dock');
  });

  it('saves without a question what nobody else changed', async () => {
    await visit('/settings?tab=workspace', async (page, window) => {
      await nameIn(page).fill('Pier');
      await window.go('/settings?tab=money');
      await page.getByText('Exchange rates').first().waitFor();
      await call('update_settings', { approvalHours: 7 });
      await window.go('/settings?tab=workspace');
      await noteIn(page).waitFor();
      assert.doesNotMatch((await noteIn(page).textContent()) ?? '', /changed since/);
      await noteIn(page).getByRole('button', { name: 'Continue' }).click();
      await save(page);
      await page.getByText('The settings are saved.').waitFor();
    });
    const { workspaceName, approvalHours } = await call('get_settings');
    assert.deepEqual([workspaceName, approvalHours], ['Pier', 7]);
  });

  it('tells the second of two tabs that the first one saved, leaves what is typed, and shows both', async () => {
    await visit('/settings?tab=workspace', async (page, window) => {
      const other = await window.context.newPage();
      await other.goto(page.url());
      await nameIn(page).fill('Mole');
      await until(async () => String(await page.evaluate('JSON.stringify(sessionStorage)')).includes('Mole'));
      await nameIn(other).fill('Jetty');
      await save(other);
      await other.getByText('The settings are saved.').waitFor();
      await page.getByText(CHANGED).waitFor();
      assert.equal(await nameIn(page).inputValue(), 'Mole');
      await save(page);
      await dialogIn(page).getByText('Jetty').first().waitFor();
      await dialogIn(page).getByRole('button', { name: 'Overwrite with mine' }).click();
      await page.getByText('The settings are saved.').waitFor();
      // What is typed after that is a draft again.
      await page.getByText(CHANGED).waitFor({ state: 'detached' });
      await nameIn(page).fill('Molehill');
      await window.go('/agents');
      await window.go('/settings?tab=workspace');
      await noteIn(page).getByRole('button', { name: 'Discard' }).click();
      // Where nothing is typed, the other tab follows.
      await until(async () => (await nameIn(other).inputValue()) === 'Mole');
      await other.close();
    });
    assert.equal((await call('get_settings')).workspaceName, 'Mole');
  });

  it('does the same with the prompt of all agents', async () => {
    await call('update_bot_config', { promptSections: { tone: 'Be kind.' } });
    await visit('/settings?tab=prompt', async (page, window) => {
      const text = page.getByRole('textbox', { name: /^Text of/ }).first();
      await text.fill('Be brief.');
      await window.go('/agents');
      await call('update_bot_config', { promptSections: { tone: 'Be exact.' }, maxTokens: 2048 });
      await window.go('/settings?tab=prompt');
      await noteIn(page).getByText(CHANGED).waitFor();
      await noteIn(page).getByRole('button', { name: 'Continue' }).click();
      await save(page);
      await dialogIn(page).getByText('Be exact.').first().waitFor();
      assert.match((await dialogIn(page).textContent()) ?? '', /Be brief\./);
      await dialogIn(page).getByRole('button', { name: 'Overwrite with mine' }).click();
      await page.getByText('Every agent begins with it from now on.').waitFor();
    });
    const { systemPrompt, maxTokens } = await call('get_bot_config');
    assert.deepEqual([systemPrompt, maxTokens], ['Be brief.', 2048]);
  });
});
