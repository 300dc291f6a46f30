import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findingsOf, PHONE, type TestDashboard } from '../../support/dashboard.ts';
import { startModelServer } from '../../support/model-server.ts';

/** Providers of models, and what agents make of them. */
export function modelsJourneys(dashboard: TestDashboard): void {
  const { call, visit } = dashboard;

  it('adds a provider, hears whether it works, and offers its models to agents', async () => {
    const far = await startModelServer(['tiny']);
    await visit('/models/new', async (page) => {
      const form = page.locator('form');
      await form.getByLabel('Name').first().fill('lab');
      await form.getByLabel('Kind').selectOption('openai-compatible');
      await form.getByLabel('Address').fill('http://127.0.0.1:9/v1');
      await form.getByLabel('API key').fill('sk-lab-secret');
      assert.deepEqual(await findingsOf(page), []);
      if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-provider-form.png` });
      await page.getByRole('button', { name: 'Add', exact: true }).last().click();
      // It is tested at once. What failed is said as an error, in the list and beside the name as well.
      const title = page.getByRole('heading', { name: /^lab/ });
      await page.locator('.toast-failed', { hasText: 'could not be reached' }).waitFor();
      await title.getByText('Fails').waitFor();
      await page.getByRole('row', { name: /lab/ }).getByText('Fails').waitFor();
      await page.getByRole('link', { name: 'Edit' }).click();
      await form.getByLabel('Address').fill(far.baseUrl);
      await form.getByLabel('API key').fill('sk-lab-secret');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('button', { name: 'Test' }).click();
      await page.getByText(/^lab\/tiny answered in \d+ ms/).waitFor();
      await title.getByText('Works').waitFor();
      assert.ok(!(await page.content()).includes('sk-lab-secret'));
      await page.setViewportSize(PHONE);
      assert.deepEqual(await findingsOf(page), []);
      if (process.env.PICTURE) await page.screenshot({ path: `${process.env.PICTURE}-provider.png`, fullPage: true });
      await page.getByRole('button', { name: 'Use lab/tiny for agents and chat' }).click();
      await page.getByText('Agents and chats use lab/tiny now').waitFor();
      assert.equal((await call('get_bot_config')).defaultModel, 'lab/tiny');
      await call('update_bot_config', { defaultModel: 'offline/rehearsal' });
      await page.getByRole('link', { name: 'See all models' }).click();
      await page.getByText('lab/tiny').first().waitFor();
    });
    await visit('/', async (page) => {
      await page.getByText('Choose a model').waitFor();
      await page.getByRole('link', { name: 'Choose it' }).waitFor();
    });
    await visit('/chat', async (page) => {
      await page.keyboard.press('/');
      await page.getByRole('combobox', { name: 'Find a page' }).fill('default model');
      await page.getByRole('option', { name: 'Default model' }).waitFor();
    });
    const { data } = await call('list_model_providers');
    await call('delete_model_provider', { id: data.find(({ name }: { name: string }) => name === 'lab').id });
  });
}
