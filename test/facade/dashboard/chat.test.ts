import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { mustCall } from '../../support/calls.ts';
import { startBrowser, withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, openDashboard } from '../../support/dashboard.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';

describe('the chat of the dashboard', { skip: withoutBrowser }, () => {
  let models: ModelServer;
  let server: TestServer;
  let browser: Browser;
  before(async () => {
    models = await startModelServer();
    server = await startTestServer({ MODEL_BASE_URL: models.baseUrl, MODEL_NAME: 'tiny' });
    browser = await startBrowser();
    await call('create_agent', {
      name: 'ada',
      displayName: 'Ada',
      tools: ['list_skills'],
      modelPreference: 'custom/tiny',
    });
    await call('create_agent', {
      name: 'rex',
      displayName: 'Rex',
      tools: ['list_*'],
      modelPreference: 'offline/rehearsal',
    });
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await models?.close();
  });

  const call = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);

  it('shows an answer, with the tools that the agent called folded', async () => {
    const window = await openDashboard(browser, server);
    const { page } = window;
    await window.open('/chat/new');
    await page.getByText('Rex', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('/list_agents {"limit": 2}');
    await page.keyboard.press('Enter');
    await page.getByText('Called list_agents').click();
    await page.getByLabel('Answer of list_agents').getByText('"displayName": "Ada"').waitFor();
    assert.deepEqual(await findingsOf(page), []);
    assert.deepEqual(window.complaints, []);
    await window.close();
  });

  it('shows what is said as it comes, and keeps it when it is stopped', async () => {
    models.play(() => ({ text: 'One two three four five six seven eight nine ten. '.repeat(40), pace: 40 }));
    const window = await openDashboard(browser, server);
    const { page } = window;
    await window.open('/chat/new');
    await page.getByText('Ada', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('Count, please.');
    await page.keyboard.press('Enter');
    await page
      .getByRole('article', { name: 'Ada' })
      .getByText(/One two/)
      .waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await page
      .getByRole('article', { name: 'Ada' })
      .getByText(/One two/)
      .waitFor();
    const { data } = await call('list_threads', { limit: 1 });
    assert.equal(data[0].title, 'Count, please.');
    const kept = await call('list_messages', { id: data[0].id });
    assert.deepEqual(kept.data.map(({ role }: { role: string }) => role).sort(), ['assistant', 'user']);
    assert.deepEqual(window.complaints, []);
    await window.close();
  });

  it('forks a thread at a message, and shares one', async () => {
    const { id } = await call('create_thread', {
      title: 'Plans',
      messages: [
        { role: 'user', content: 'First.' },
        { role: 'assistant', content: 'Second, **strong**.' },
      ],
    });
    const window = await openDashboard(browser, server);
    const { page } = window;
    await window.open(`/chat/${id}`);
    assert.equal(await page.locator('.prose strong').textContent(), 'strong');
    await page.getByRole('button', { name: 'More of this message' }).first().click();
    await page.getByRole('button', { name: 'Fork from here' }).first().click();
    await page.getByRole('heading', { name: 'Plans (fork)' }).waitFor();
    await window.go(`/chat/${id}`);
    await page.getByRole('button', { name: 'Workspace' }).click();
    await page.getByLabel('Visible to').selectOption('restricted');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Restricted' }).waitFor();
    assert.equal((await call('get_thread_access', { id })).visibility, 'restricted');
    assert.deepEqual(window.complaints, []);
    await window.close();
  });
});
