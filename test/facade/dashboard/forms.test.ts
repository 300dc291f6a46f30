import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, PHONE, testDashboard } from '../../support/dashboard.ts';
import { pluck } from '../../support/pluck.ts';
import { startTestServer } from '../../support/server.ts';

// together: one browser
describe('forms of the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer());
  const { call, visit } = dashboard;

  it('make the name from the display name until another one is typed, and say what is inherited', async () => {
    const { defaultModel } = await call('get_bot_config');
    await visit('/agents/new', async (page) => {
      const name = page.getByRole('textbox', { name: /^Name( Required)?$/ });
      await page.getByLabel('Display name').first().fill('Größe & Maß (EU)');
      assert.equal(await name.inputValue(), 'grosse-mass-eu');
      await name.fill('sizes');
      await page.getByLabel('Display name').first().fill('Sizes of things');
      assert.equal(await name.inputValue(), 'sizes');
      await page
        .getByText(`Inherits: ${defaultModel}`)
        .or(page.getByPlaceholder(`Inherits: ${defaultModel}`))
        .first()
        .waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('button', { name: 'Create agent' }).click();
      await page.getByRole('heading', { name: 'Sizes of things' }).waitFor();
      await page.getByText(`Inherits: ${defaultModel}`).waitFor();
    });
    assert.equal((await call('get_agent', { id: 'sizes' })).displayName, 'Sizes of things');
  });

  it('make a missing record on the spot, and choose it, without losing what is filled in', async () => {
    const agent = await call('create_agent', { name: 'rig', displayName: 'Rig' });
    await visit('/tasks/new', async (page) => {
      await page.getByLabel('Title').fill('Splice the ropes');
      await page.getByRole('combobox', { name: /^Project/ }).click();
      await page.getByRole('searchbox', { name: 'Name or id' }).fill('Spring refit');
      await page.getByRole('button', { name: 'New project “Spring refit”…' }).click();
      const dialog = page.getByRole('dialog', { name: 'New project' });
      assert.equal(await dialog.getByLabel('Name').inputValue(), 'Spring refit');
      assert.deepEqual(await findingsOf(page), []);
      await dialog.getByRole('button', { name: 'Create project' }).click();
      await page
        .getByRole('combobox', { name: /^Project/ })
        .filter({ hasText: 'Spring refit' })
        .waitFor();
      assert.equal(await page.getByLabel('Title').inputValue(), 'Splice the ropes');
      await page.getByRole('button', { name: 'Create task' }).click();
      await page.getByRole('heading', { name: 'Splice the ropes' }).waitFor();
    });
    const [project] = (await call('list_projects')).data;
    const [task] = (await call('list_tasks')).data;
    assert.deepEqual([project.name, task.projectId], ['Spring refit', project.id]);
    await visit({ path: `/agents/${agent.id}/edit`, viewport: PHONE }, async (page) => {
      await page.getByRole('button', { name: 'New skill…' }).click();
      const dialog = page.getByRole('dialog', { name: 'New skill' });
      await dialog.getByLabel(/^Name/).fill('splicing');
      await dialog.getByRole('button', { name: 'Create skill' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('checkbox', { name: 'splicing' }).waitFor();
      assert.ok(await page.getByRole('checkbox', { name: 'splicing' }).isChecked());
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('was saved.').waitFor();
    });
    const [skill] = (await call('list_skills')).data;
    assert.deepEqual((await call('get_agent', { id: agent.id })).skillIds, [skill.id]);
  });

  it('ask for what belongs to the chosen way alone', async () => {
    await visit('/integrations/new', async (page) => {
      await page.getByRole('textbox', { name: 'Address' }).waitFor();
      assert.equal(await page.getByLabel('Command').count(), 0);
      await page.getByRole('textbox', { name: 'Address' }).fill('https://mcp.example.com/mcp');
      await page.getByRole('radio', { name: /^As a program here/ }).check();
      await page.getByLabel('Command').waitFor();
      assert.equal(await page.getByRole('textbox', { name: 'Address' }).count(), 0);
      assert.deepEqual(await findingsOf(page), []);
    });
    await visit('/memory/new', async (page) => {
      assert.equal(await page.getByLabel('Agent', { exact: true }).count(), 0);
      await page.getByLabel('Who it is for').selectOption('agent');
      await page.getByLabel('Agent', { exact: true }).waitFor();
    });
  });

  it('clear what the change of a record hides, and leave alone what was hidden before', async () => {
    const agentId = (await call('create_agent', { name: 'mate', displayName: 'Mate' })).id;
    const memory = await call('create_memory', { content: 'Ebb at six.', scope: 'agent', agentId });
    await visit(`/memory/${memory.id}/edit`, async (page) => {
      await page.getByLabel('Who it is for').selectOption('workspace');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('was saved.').waitFor();
    });
    const moved = await call('get_memory', { id: memory.id });
    assert.deepEqual([moved.scope, moved.agentId], ['workspace', undefined]);
    const far = { transport: 'http', url: 'http://127.0.0.1:9/mcp', enabled: false };
    const headers = { 'X-Tenant': 'harbour' };
    const open = await call('create_integration', { ...far, name: 'Open', auth: 'headers', headers });
    const shared = await call('create_integration', { ...far, name: 'Shared', auth: 'oauth-shared', headers });
    await visit(`/integrations/${open.id}/edit`, async (page, window) => {
      await page.getByLabel('Authentication').selectOption('none');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('was saved.').waitFor();
      await window.open(`/integrations/${shared.id}/edit`);
      await page.getByLabel('Name', { exact: true }).fill('Shared by all');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('was saved.').waitFor();
    });
    const [now, others] = [
      await call('get_integration', { id: open.id }),
      await call('get_integration', { id: shared.id }),
    ];
    assert.deepEqual([now.auth, now.headers], ['none', undefined]);
    assert.deepEqual([others.name, Object.keys(others.headers)], ['Shared by all', ['X-Tenant']]);
  });

  it('name the fields as the page of the record does, which leaves out what is folded and as always', async () => {
    const far = { transport: 'http', url: 'http://127.0.0.1:9/mcp', enabled: false, auth: 'none' };
    const { id } = await call('create_integration', { ...far, name: 'Far' });
    await visit(`/integrations/${id}`, async (page) => {
      const names = page.locator('.overview .fields dt');
      await page.getByText('Where it runs').waitFor();
      const [one, two, three] = await names.allTextContents();
      assert.deepEqual([one, two, three], ['Where it runs', 'Address', 'Authentication']);
      await page.getByText('At an address').waitFor();
      assert.equal(await names.filter({ hasText: 'Longest call' }).count(), 0);
      assert.equal(await page.locator('.detail-bar').getByText('Far').count(), 1);
      assert.equal(await page.getByRole('columnheader', { name: 'To approve' }).isVisible(), false);
    });
  });

  it('are sent by Ctrl+Enter, and lead to the heading of what was made', async () => {
    await visit('/skills/new', async (page) => {
      await page.getByRole('textbox', { name: /^Name/ }).fill('whipping');
      await page.getByLabel(/^Instructions/).fill('Wind it.');
      await page.keyboard.press('Control+Enter');
      await page.locator('h1:focus').getByText('whipping').waitFor();
    });
    await visit('/memory/new', async (page) => {
      await page.getByLabel(/^What to remember/).fill('Tie once.');
      await page.getByLabel(/^Tags/).fill('knot');
      await page.keyboard.press('Control+Enter'); // adds the tag
      for (let times = 0; times < 3; times += 1) await page.keyboard.press('Control+Enter');
      await page.locator('h1:focus').waitFor();
      const { data } = await call('list_memories');
      const made = data.filter(({ content }: { content: string }) => content === 'Tie once.');
      assert.deepEqual(pluck(made, 'tags'), [['knot']]);
    });
  });

  it('lead to the first field that is wrong, and open what is folded around it', async () => {
    const agent = await call('create_agent', { name: 'bow', displayName: 'Bow' });
    await visit(`/agents/${agent.id}/edit`, async (page) => {
      await page.getByText('Advanced', { exact: true }).click();
      await page.getByRole('button', { name: 'Set identity' }).click();
      await page.getByLabel('Avatar URL').fill('ftp://example.com/bow.png');
      await page.getByText('Advanced', { exact: true }).click();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('[aria-invalid="true"]').waitFor();
      const isFocused = `document.activeElement?.getAttribute('aria-invalid') === 'true' && document.activeElement.value.startsWith('ftp:')`;
      await page.waitForFunction(isFocused);
      assert.ok(await page.getByLabel('Avatar URL').isVisible());
      // The problem stands at its field alone.
      assert.equal(await page.locator('.error-box').count(), 0);
    });
  });
});
