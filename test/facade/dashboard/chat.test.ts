import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, testDashboard } from '../../support/dashboard.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { startTestServer } from '../../support/server.ts';

// together: one browser
describe('the chat of the dashboard', { skip: withoutBrowser }, () => {
  let models: ModelServer;
  const { call, visit } = testDashboard(async () => {
    models = await startModelServer();
    return startTestServer({ MODEL_BASE_URL: models.baseUrl, MODEL_NAME: 'tiny' });
  });
  before(async () => {
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
  after(() => models?.close());

  it('shows an answer, with the tools that the agent called folded', async () => {
    await visit('/chat/new', async (page) => {
      await page.getByText('Rex', { exact: true }).click();
      await page.getByRole('textbox', { name: 'Message' }).fill('/list_agents {"limit": 2}');
      await page.keyboard.press('Enter');
      await page.getByText('Called list_agents').click();
      await page.getByLabel('Answer of list_agents').getByText('"displayName": "Ada"').waitFor();
      assert.deepEqual(await findingsOf(page), []);
    });
  });

  it('shows what is said as it comes, and keeps it when it is stopped', async () => {
    models.play(() => ({ text: 'One two three four five six seven eight nine ten. '.repeat(40), pace: 40 }));
    await visit('/chat/new', async (page) => {
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
    });
  });

  it('shows a summary in place of older messages, folded, and the run what it rests on', async () => {
    models.play(({ messages }) => ({
      text: /summarise/.test(messages[0]?.content ?? '') ? 'Bob likes **tea**.' : 'Noted.',
    }));
    let threadId: string | undefined;
    let runId = '';
    for (let turn = 1; turn <= 13; turn += 1) {
      const message = `Note ${turn}: ${'word '.repeat(1600)}`;
      ({ threadId, runId } = await call('send_chat_message', { message, agentId: 'ada', threadId }));
    }
    await visit(`/chat/${threadId}`, async (page) => {
      await page.getByText('Earlier messages, summarised').click();
      await page.getByText('Bob likes tea.').waitFor();
      assert.deepEqual(await findingsOf(page), []);
    });
    await visit(`/runs/${runId}`, async (page) => {
      await page.getByText(/a summary of \d+ messages/).waitFor();
      await page.getByText('Summarised earlier messages.').waitFor();
      assert.deepEqual(await findingsOf(page), []);
    });
  });

  it('shows the source of a citation beside the answer, and the run its passages', async () => {
    await call('create_document', { title: 'Leave', content: '# Holidays\n\nEverybody has 30 days of holidays.' });
    await call('create_agent', {
      ...{ name: 'kim', displayName: 'Kim', modelPreference: 'offline/rehearsal' },
      knowledge: { maxPassages: 3 },
    });
    await visit('/chat/new', async (page) => {
      await page.getByText('Kim', { exact: true }).click();
      await page.getByRole('textbox', { name: 'Message' }).fill('How many days of holidays do I have?');
      await page.keyboard.press('Enter');
      const sources = page.getByRole('list', { name: 'Sources' });
      await sources.getByText('[1]').click();
      await sources.getByText('Everybody has 30 days of holidays.').waitFor();
      if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE, fullPage: true });
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('link', { name: 'Open the document here' }).click();
      const passage = page.getByRole('region', { name: 'The passage that was found' });
      assert.match((await passage.textContent()) ?? '', /^Everybody has 30 days/);
      await page.goBack();
      await page.getByRole('button', { name: 'More of this message' }).last().click();
      await page.getByRole('button', { name: 'What it rests on' }).click();
      await page.getByText('Holidays', { exact: false }).first().waitFor();
    });
  });

  it('forks a thread at a message, and shares one', async () => {
    const { id } = await call('create_thread', {
      title: 'Plans',
      messages: [
        { role: 'user', content: 'First.' },
        { role: 'assistant', content: 'Second, **strong**.' },
      ],
    });
    await visit(`/chat/${id}`, async (page, window) => {
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
    });
  });
});

describe('the dashboard of a new workspace', { skip: withoutBrowser }, () => {
  const { visit } = testDashboard(() => startTestServer());

  it('says on every page without records how the first one comes about', async () => {
    await visit('/', async (page, window) => {
      const paths = await page
        .locator('.nav-link')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''));
      const actions = new Map<string, string[]>();
      for (const path of paths) {
        await window.go(path);
        for (const empty of await page.locator('.empty').all()) {
          assert.ok((await empty.locator('.quiet, a, button').count()) > 0, `${path}: ${await empty.textContent()}`);
          actions.set(path, [
            ...(actions.get(path) ?? []),
            ...(await empty.getByRole('link').or(empty.getByRole('button')).allTextContents()),
          ]);
        }
      }
      assert.ok(actions.size > 15, [...actions.keys()].join());
      for (const [path, action] of [
        ['/tasks', 'New task'],
        ['/users', 'Import users'],
        ['/runs', 'New chat'],
        ['/documents', 'New document'],
      ] as const)
        assert.deepEqual(actions.get(path), [action]);
    });
  });
});
