import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, testDashboard } from '../../support/dashboard.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { startTestServer } from '../../support/server.ts';
import { PNG } from '../../support/small-files.ts';
import { until } from '../../support/until.ts';

/** Notes whether the answer of the test, once drawn, is gone for a moment. */
const NOTES_GONE = `{
  globalThis.wasGone = false;
  let seen = false;
  const look = () => {
    const isThere = [...document.querySelectorAll('article p')].some((each) => each.textContent.startsWith('Our answer'));
    if (seen && !isThere) wasGone = true;
    seen ||= isThere;
  };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}`;

/** What begins the first record, by the page. */
const FIRST_ACTIONS = new Map([
  ['/tasks', 'New task'],
  ['/users', 'Import users'],
  ['/runs', 'New chat'],
  ['/documents', 'New document'],
]);

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
  before(async () => {
    await call('create_model_provider', {
      ...{ name: 'seeing', kind: 'openai-compatible', baseUrl: models.baseUrl, apiKey: 'sk' },
      models: [{ name: 'eye', inputs: ['text', 'image'] }],
    });
    await call('create_agent', { name: 'iris', displayName: 'Iris', modelPreference: 'seeing/eye' });
  });
  after(() => models?.close());

  it('shows an answer, with the tools that the agent called folded', async () => {
    await visit('/chat/new', async (page) => {
      await page.getByText('Rex', { exact: true }).click();
      await page.getByRole('textbox', { name: 'Message' }).fill('/list_agents {"name": "ada"}');
      await page.keyboard.press('Enter');
      await page.getByText('Called list_agents').click();
      await page.getByLabel('Answer of list_agents').getByText('"displayName": "Ada"').waitFor();
      assert.deepEqual(await findingsOf(page), []);
    });
  });

  it('draws tables, code and JSON, and breaks prose after some seventy letters', async () => {
    const prose =
      'Our answer is as long as a paragraph of a letter and so it takes several lines on a wide page. '.repeat(6);
    const table = '| plan | price |\n| --- | --- |\n| small | 9 |';
    models.play(() => ({ text: `${prose}\n\n${table}\n\n\`\`\`json\n{"plan": "small"}\n\`\`\`` }));
    await visit('/chat/new', async (page) => {
      await page.getByText('Ada', { exact: true }).click();
      await page.getByRole('textbox', { name: 'Message' }).fill('Which plans are there?');
      await page.evaluate(NOTES_GONE);
      await page.keyboard.press('Enter');
      const answer = page.getByRole('article', { name: 'Ada' });
      await answer.getByRole('cell', { name: 'small' }).waitFor();
      await answer.locator('pre').getByText('"plan"').waitFor();
      // In one step, as the element is another one once the answer is kept.
      const letters = await page.evaluate(`{
        const paragraph = [...document.querySelectorAll('article p')].find((each) => each.textContent.startsWith('Our answer'));
        const lines = document.createRange();
        lines.selectNodeContents(paragraph);
        const tops = new Set([...lines.getClientRects()].map(({ top }) => Math.round(top)));
        paragraph.textContent.length / tops.size;
      }`);
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
      assert.equal(await page.evaluate('wasGone'), false, 'What was read stays while it is kept.');
      assert.ok(Number(letters) > 55 && Number(letters) < 80, `${letters} letters a line`);
      assert.deepEqual(await findingsOf(page), []);
    });
  });

  it('shows JSON as code also where nobody marked it, numbers at the end of their columns, and what waits with a way to it', async () => {
    const list = JSON.stringify({ data: Array.from({ length: 9 }, (_, n) => ({ plan: n })) });
    models.play(() => ({ text: `Plans:\n\n${list}\n\n| plan | price |\n| --- | ---: |\n| small | 9 |` }));
    await visit('/chat/new', async (page) => {
      await page.getByText('Ada', { exact: true }).click();
      await page.getByRole('textbox', { name: 'Message' }).fill('All plans?');
      await page.keyboard.press('Enter');
      const answer = page.getByRole('article', { name: 'Ada' });
      await answer.getByText(/^JSON, \d+ lines$/).click();
      await answer.locator('pre').getByText('"plan": 8').waitFor();
      await answer.locator('td.end').getByText('9').waitFor();
    });
    const asking = { name: 'tess', displayName: 'Tess', modelPreference: 'offline/rehearsal' };
    await call('create_agent', { ...asking, tools: ['create_task'], askFirst: ['create_task'] });
    const message = '/create_task {"title": "Splice the ropes"}';
    const { threadId, runId } = await call('send_chat_message', { agentId: 'tess', message });
    await visit(`/chat/${threadId}`, async (page, window) => {
      const answer = page.getByRole('article', { name: 'Tess' });
      await answer.getByText('Waits for approval: Create task “Splice the ropes”').waitFor();
      assert.equal(await answer.getByText(/http|in, 0 out/).count(), 0);
      assert.equal(await answer.getByRole('button', { name: 'Why?' }).count(), 0);
      assert.deepEqual(await findingsOf(page), []);
      await window.go(`/runs/${runId}`);
      await page.locator('.trace .badge.warn').getByText('Waiting for approval').waitFor();
      await page.getByRole('link', { name: 'Review' }).click();
      await page.getByRole('heading', { name: 'Create task' }).waitFor();
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

  it('sends files with a message, and shows an image large', async () => {
    models.play(() => ({ text: 'Seen.' }));
    await visit('/chat/new', async (page) => {
      await page.getByText('Iris', { exact: true }).click();
      const files = page.getByRole('list', { name: 'Files of this message' });
      await page.getByLabel('Files to attach').setInputFiles([
        { name: 'dot.png', mimeType: 'image/png', buffer: PNG },
        { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Notes') },
        { name: 'huge.gif', mimeType: 'image/gif', buffer: Buffer.alloc(10 * 1024 * 1024 + 1) },
      ]);
      await files.getByRole('alert').getByText('It is larger than 10 MB.').waitFor();
      await page.getByRole('textbox', { name: 'Message' }).fill('What is this?');
      assert.equal(await page.getByRole('button', { name: 'Send' }).isDisabled(), true);
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('button', { name: 'Remove huge.gif' }).click();
      await page.keyboard.press('Enter');
      await page.getByText('Seen.').waitFor();
      const image = page.getByRole('button', { name: 'dot.png: open it large' });
      await image.waitFor();
      assert.deepEqual(await findingsOf(page), []);
      const parts = models.requests.at(-1)?.body.messages.at(-1).content;
      assert.equal(parts[0].image_url.url, `data:image/png;base64,${PNG.toString('base64')}`);
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: /notes\.md/ }).click(),
      ]);
      assert.equal(saved.suggestedFilename(), 'notes.md');
      await image.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'dot.png' });
      await dialog.getByRole('img', { name: 'dot.png' }).waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });
  });

  it('takes files that are pasted and dropped, and gives back what the server refuses, with why', async () => {
    await visit({ path: '/chat/new', viewport: { width: 390, height: 800 } }, async (page) => {
      await page.getByText('Rex', { exact: true }).click();
      const given = JSON.stringify(PNG.toString('base64'));
      const transferred = (name: string) => `(() => {
        const transfer = new DataTransfer();
        const bytes = Uint8Array.from(atob(${given}), (letter) => letter.charCodeAt(0));
        transfer.items.add(new File([bytes], ${JSON.stringify(name)}, { type: 'image/png' }));
        return transfer;
      })()`;
      await page.getByRole('textbox', { name: 'Message' }).fill('And this?');
      await page.evaluate(
        `document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', { clipboardData: ${transferred('pasted.png')}, bubbles: true, cancelable: true }))`,
      );
      const dropped = await page.evaluateHandle(transferred('dropped.png'));
      await page.dispatchEvent('main', 'dragenter', { dataTransfer: dropped });
      await page.getByText('Drop files to send them with your message').waitFor();
      await page.dispatchEvent('main', 'drop', { dataTransfer: dropped });
      await page.getByRole('button', { name: 'Remove dropped.png' }).waitFor();
      await page.getByRole('button', { name: 'Send' }).click();
      await page
        .getByRole('alert')
        .getByText(/reads no images, so pasted\.png cannot go to it/)
        .waitFor();
      assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'And this?');
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('button', { name: 'Remove pasted.png' }).click();
      await page.getByRole('button', { name: 'Remove dropped.png' }).click();
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('I found nothing about this').waitFor();
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
      await page.getByText('Summary of earlier messages').waitFor();
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
      await page.getByRole('button', { name: 'Sources and steps' }).click();
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
      const texts = () => page.locator('.empty').locator('a, button').allTextContents();
      let empty = 0;
      for (const path of paths) {
        await window.go(path);
        const first = FIRST_ACTIONS.get(path);
        if (first !== undefined) await until(async () => (await texts()).join() === first);
        for (const box of await page.locator('.empty').all())
          assert.ok((await box.locator('.quiet, a, button').count()) > 0, `${path}: ${await box.textContent()}`);
        if ((await page.locator('.empty').count()) > 0) empty += 1;
      }
      assert.ok(empty > 15, `${empty}`);
    });
  });
});
