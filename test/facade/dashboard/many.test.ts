import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, inPage, PHONE, testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';

const selected = (page: Page) => page.getByRole('group', { name: /^Selected / });
const choose = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true });

// together: one browser
describe('many records in a list of the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer());
  const { call, visit } = dashboard;
  const titles = async () =>
    (await call('list_documents', { limit: 100 })).data.map(({ title }: { readonly title: string }) => title).sort();

  it('deletes a range with one question, says which could not be, and puts the others back', async () => {
    const names = ['Ararat', 'Baker', 'Cook', 'Denali'];
    const made = [];
    for (const name of names) made.push(await call('create_project', { name, description: `About ${name}` }));
    await call('create_task', { title: 'Pitch the tents', projectId: made[1]?.id });
    await visit('/projects', async (page) => {
      await choose(page, 'Denali').check();
      await choose(page, 'Baker').click({ modifiers: ['Shift'] });
      await selected(page).getByText('3 selected').waitFor();
      assert.equal(await choose(page, 'Ararat').isChecked(), false);
      assert.deepEqual(await findingsOf(page), []);
      await selected(page).getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete 3 projects' }).click();
      const dialog = page.getByRole('dialog', { name: '2 projects deleted' });
      await dialog.getByText('Baker').waitFor();
      assert.match((await dialog.textContent()) ?? '', /1 project could not be deleted:.*Baker.*task/i);
      assert.deepEqual(await findingsOf(page), []);
      assert.deepEqual((await call('list_projects')).total, undefined);
      assert.equal((await call('list_projects')).data.length, 2);
      await dialog.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('2 projects put back.').waitFor();
      await selected(page).getByText('1 selected').waitFor();
      await choose(page, 'Cook').waitFor();
    });
    const { data } = await call('list_projects');
    assert.deepEqual(data.map(({ description }: { readonly description: string }) => description).sort(), [
      ...names.map((name) => `About ${name}`),
    ]);
  });

  it('tags, moves and takes back what it did to documents, on a phone too, without losing their other tags', async () => {
    const project = await call('create_project', { name: 'Harbour' });
    const first = await call('create_document', { title: 'Tides', content: 'High at noon.', tags: ['sea'] });
    const second = await call('create_document', { title: 'Winds', content: 'From the west.', tags: ['air', 'done'] });
    const tagsOf = async ({ id }: { readonly id: string }) => (await call('get_document', { id })).tags;
    await visit({ path: '/documents', viewport: PHONE }, async (page) => {
      await page.getByRole('checkbox', { name: 'Select all that are loaded' }).check();
      assert.ok(await page.evaluate(inPage.fits));
      assert.deepEqual(await findingsOf(page), []);
      await selected(page).getByRole('button', { name: 'Tags' }).click();
      await page.getByLabel('Tag to add').fill('done');
      await page.getByRole('button', { name: 'Add to all' }).click();
      await page.getByText('2 documents tagged.').waitFor();
      assert.deepEqual(
        [await tagsOf(first), await tagsOf(second)],
        [
          ['sea', 'done'],
          ['air', 'done'],
        ],
      );
      // Only one of them was changed, so only that one is put back.
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('1 document put back.').waitFor();
      assert.deepEqual([await tagsOf(first), await tagsOf(second)], [['sea'], ['air', 'done']]);
    });
    await visit('/documents', async (page) => {
      await choose(page, 'Tides').check();
      await selected(page).getByRole('button', { name: 'Move to project' }).click();
      await page.getByRole('button', { name: 'Harbour' }).click();
      await page.getByText('1 document moved.').waitFor();
    });
    assert.equal((await call('get_document', { id: first.id })).projectId, project.id);
    for (const { id } of [first, second]) await call('delete_document', { id });
  });

  it('selects all that match beyond the loaded ones, shows how far it is, and stops when asked', async () => {
    const COUNT = 130;
    for (let n = 0; n < COUNT; n += 1) await call('create_document', { title: `Log ${n}`, content: 'Calm.' });
    await call('create_document', { title: 'Chart', content: 'Rocks.', tags: ['keep'] });
    const before = await titles();
    await visit('/documents', async (page) => {
      await choose(page, 'Log 129').check();
      await selected(page).getByRole('button', { name: 'Select all 131 that match' }).click();
      await selected(page).getByText('131 selected').waitFor();
      await choose(page, 'Chart').uncheck();
      let calls = 0;
      let release = () => {};
      const released = new Promise<void>((go) => {
        release = go;
      });
      await page.route('**/api/v1/mcp', async (route) => {
        if (route.request().headers()['mcp-name'] === 'delete_document') calls += 1;
        if (calls > 7) await released;
        await route.continue();
      });
      await selected(page).getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete 130 documents' }).click();
      const dialog = page.getByRole('dialog', { name: 'Deleting 130 documents' });
      await dialog.getByText('7 of 130').waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.getByText('Stopping…').waitFor();
      release();
      const ended = page.getByRole('dialog', { name: '11 documents deleted' });
      await ended.getByText('119 documents were not begun, because you cancelled.').waitFor();
      assert.equal((await call('list_documents', { limit: 1, includeTotal: true })).total, 120);
      await ended.getByRole('button', { name: 'Undo' }).click();
      await page.getByText('11 documents put back.').waitFor();
      await selected(page).getByText('119 selected').waitFor();
    });
    assert.deepEqual(await titles(), before);
  });

  it('ends where the server goes away, says what is not known, and goes on with what is left', async () => {
    for (let n = 0; n < 30; n += 1) await call('create_document', { title: `Map ${n}`, content: 'Blue.' });
    await visit('/documents?q=Map', async (page) => {
      await page.getByRole('checkbox', { name: 'Select all that are loaded' }).check();
      await selected(page).getByText('30 selected').waitFor();
      let calls = 0;
      await page.route('**/api/v1/mcp', async (route) => {
        if (route.request().headers()['mcp-name'] === 'delete_document') calls += 1;
        await (calls > 10 ? route.abort() : route.continue());
      });
      await selected(page).getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete 30 documents' }).click();
      const dialog = page.getByRole('dialog', { name: '10 documents deleted' });
      await dialog.getByText('so this one may be changed or not').first().waitFor();
      await dialog.getByText(/were not begun/).waitFor();
      assert.ok(calls < 20, `${calls} calls`);
      await page.unroute('**/api/v1/mcp');
      await dialog.getByRole('button', { name: 'Close' }).last().click();
      await selected(page).getByText('20 selected').waitFor();
      await selected(page).getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete 20 documents' }).click();
      await page.getByText('20 documents deleted.').waitFor();
    });
  });

  it('begins nothing more once the session has ended, and leads to the sign-in', async () => {
    const email = 'mover@example.com';
    const { id } = await call('create_admin_user', { email, access: { scopes: ['write'] } });
    for (let n = 0; n < 30; n += 1) await call('create_document', { title: `Buoy ${n}`, content: 'Red.' });
    await visit({ path: '/documents?q=Buoy', email }, async (page) => {
      await page.getByRole('checkbox', { name: 'Select all that are loaded' }).check();
      let calls = 0;
      await page.route('**/api/v1/mcp', async (route) => {
        if (route.request().headers()['mcp-name'] === 'delete_document') calls += 1;
        if (calls === 10) await call('deactivate_admin_user', { id });
        await route.continue();
      });
      await selected(page).getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete 30 documents' }).click();
      await page.waitForURL('**/sign-in**');
      assert.ok(calls < 20, `${calls} calls`);
    });
    const left = (await titles()).filter((title: string) => title.startsWith('Buoy'));
    assert.ok(left.length >= 15 && left.length < 30, String(left.length));
  });

  it('leaves alone what somebody changed since, when it is taken back', async () => {
    const { id: entityId } = await call('create_skill', { name: 'knots', instructions: 'Tie them.' });
    await call('create_skill', { name: 'ropes', instructions: 'Cut them.' });
    await visit('/skills', async (page) => {
      await page.getByRole('checkbox', { name: 'Select all that are loaded' }).check();
      await selected(page).getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 skills' }).click();
      await page.getByText('2 skills deleted.').waitFor();
      const about = { entityType: 'skill', entityId };
      const { data } = await call('list_versions', about);
      await call('restore_version', { ...about, versionId: data[1].id });
      await page.getByRole('button', { name: 'Undo' }).click();
      const dialog = page.getByRole('dialog', { name: '1 skill put back' });
      await dialog.getByText('It was changed again since, so it stays as it is.').waitFor();
    });
  });

  it('says what is lost with them, each thing once', async () => {
    for (const name of ['Boats', 'Crews'])
      await call('create_database', { name, columns: [{ name: 'Name', type: 'string' }] });
    await visit('/databases', async (page) => {
      await page.getByRole('checkbox', { name: 'Select all that are loaded' }).check();
      await selected(page).getByRole('button', { name: 'Delete' }).click();
      const dialog = page.getByRole('dialog', { name: 'Delete 2 databases?' });
      await dialog.waitFor();
      assert.equal(await dialog.getByText('All its records are deleted with it.').count(), 1);
    });
  });

  it('has no boxes for who may change nothing', async () => {
    await call('create_admin_user', { email: 'viewer@example.com', access: { scopes: ['read'] } });
    await visit({ path: '/skills', email: 'viewer@example.com' }, async (page) => {
      await page.getByRole('table', { name: 'skills' }).waitFor();
      assert.equal(await page.getByRole('checkbox').count(), 0);
    });
  });
});
