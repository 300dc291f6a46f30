import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';

// together: one browser
if (withoutBrowser) console.log(`SKIPPED: the pickers of the dashboard, for ${withoutBrowser}.`);

/** More than a list shows at once. */
const MANY = 105;

/** Types a word into the list that is open, and takes the first record that it finds. */
async function pick(page: Page, word: string, name: string): Promise<void> {
  await page.getByRole('searchbox', { name: 'Name or id' }).fill(word);
  await page.getByRole('group').getByRole('button', { name, exact: true }).click();
}

describe('a record among very many', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(startTestServer);
  const { call, inWindow, visit } = dashboard;
  const ids: Record<string, string> = {};
  const make = async (tool: string, inputOf: (name: string) => object) => {
    ids[tool] = (await call(tool, inputOf('zora'))).id; // the oldest one is last in each list
    await Promise.all(Array.from({ length: MANY }, (_, n) => call(tool, inputOf(`other-${n}`))));
  };
  before(async () => {
    await make('create_agent', (name) => ({ name, displayName: name }));
    await make('create_skill', (name) => ({ name, instructions: 'Once.' }));
    await make('create_api_key', (name) => ({ name, scopes: ['read'] }));
  });

  it('is found for a field of a form by its name', async () => {
    await visit('/tasks/new', async (page) => {
      await page.getByLabel('Title').fill('Look it up');
      await page.getByRole('combobox', { name: 'Assignee agent' }).click();
      await pick(page, 'zor', 'zora');
      await page.getByRole('combobox', { name: 'Assignee agent' }).filter({ hasText: 'zora' }).waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('button', { name: 'Create task' }).click();
      await page.waitForURL(/\/tasks\/tsk_/);
      const { data } = await call('list_tasks');
      assert.equal(data[0].assigneeAgentId, ids.create_agent);
    });
  });

  it('is found for a list of records in a form, and shown there by its name', async () => {
    await visit(`/agents/${ids.create_agent}/edit`, async (page) => {
      const skills = page.getByRole('group', { name: 'Skills' });
      await skills.getByRole('button', { name: 'Add' }).click();
      await pick(page, 'zor', 'zora');
      await skills.getByRole('checkbox', { name: 'zora', checked: true }).waitFor();
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL(`**/agents/${ids.create_agent}`);
      assert.deepEqual((await call('get_agent', { id: ids.create_agent })).skillIds, [ids.create_skill]);
    });
  });

  it('is found for a filter, also where no tool searches such records', async () => {
    await inWindow(async (page, window) => {
      for (const [group, tool] of Object.entries({ Agents: 'create_agent', Keys: 'create_api_key' })) {
        await window.open('/audit');
        await page.getByRole('button', { name: 'Who', exact: true }).click();
        await page.getByRole('searchbox', { name: 'Name or id' }).fill('zora');
        await page.getByRole('group', { name: group }).getByRole('button', { name: 'zora' }).click();
        await page.waitForURL(`**/audit?principal=${ids[tool]}`);
      }
    });
  });

  it('is shown above its field where there is no room below', async () => {
    await visit({ path: '/tasks/new', viewport: { width: 1000, height: 600 } }, async (page) => {
      const field = page.getByRole('combobox', { name: 'Assignee agent' });
      await field.evaluate((element) => element.scrollIntoView(false));
      await field.click();
      await page.getByRole('group').getByRole('button').first().waitFor();
      const { y = 0, height = 0 } = (await page.locator('.record-choices:popover-open').boundingBox()) ?? {};
      assert.ok(y >= 0 && y + height <= 600, `from ${y} to ${y + height}`);
    });
  });
});

describe('the tools of a capsule', { skip: withoutBrowser }, () => {
  const { call, visit } = testDashboard(startTestServer);

  it('are picked by Enter in their search, and warned of where there are none', async () => {
    await visit('/capsules/new', async (page) => {
      await page.getByText('No tools yet: a client that connects can do nothing.').waitFor();
      await page.getByRole('textbox', { name: /^Name/ }).first().fill('Searched');
      await page.getByRole('searchbox', { name: 'Find tools' }).fill('list skills');
      await page.keyboard.press('Enter');
      await page.getByRole('status').filter({ hasText: '1 tool, which only read' }).waitFor();
      await page.getByText('No tools yet: a client that connects').waitFor({ state: 'detached' });
      await page.keyboard.press('Enter'); // picks it no second time
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('button', { name: 'Create capsule' }).click();
      await page.getByRole('button', { name: 'I have it' }).click();
      const { data } = await call('list_capsules', { q: 'Searched' });
      assert.deepEqual(data[0].allowedTools, ['list_skills']);
    });
  });
});
