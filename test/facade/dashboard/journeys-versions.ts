import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findingsOf, type TestDashboard } from '../../support/dashboard.ts';

/** Versions of records, and what brings them back. */
export function versionsJourneys(dashboard: TestDashboard): void {
  const { call, inWindow } = dashboard;

  it('brings back an earlier version on the page of its record', async () => {
    const { id } = await call('create_skill', { name: 'tone', instructions: 'Be brief.' });
    await call('update_skill', { id, instructions: 'Be long.' });
    await inWindow(async (page, window) => {
      await window.open(`/skills/${id}`);
      await page.getByRole('tab', { name: /^Versions/ }).click();
      await page.getByRole('button', { name: /^Revision 1/ }).click();
      await page.getByRole('button', { name: 'Restore', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
      await page.getByText('Revision 1 is back.').waitFor();
      await page.getByRole('button', { name: /^Revision 3/ }).waitFor();
      await page.getByRole('tab', { name: 'Overview' }).click();
      await page.getByText('Be brief.').waitFor();
    });
    assert.equal((await call('get_skill', { id })).instructions, 'Be brief.');
    await call('delete_skill', { id });
  });

  it('shows what changed in names and lines of text, not in ids and JSON', async () => {
    const [kept, gone] = [
      await call('create_skill', { name: 'greeting-people', instructions: 'Say hello.' }),
      await call('create_skill', { name: 'soon-gone', instructions: 'Nothing.' }),
    ];
    const { id } = await call('create_agent', { name: 'learner', displayName: 'Learner' });
    await call('update_agent', { id, skillIds: [kept.id, gone.id] });
    const [both] = (await call('list_versions', { entityType: 'agent', entityId: id })).data;
    await call('update_agent', { id, skillIds: [kept.id] });
    await call('delete_skill', { id: gone.id });
    const before = (await call('get_bot_config')).promptSections;
    await call('update_bot_config', { promptSections: { ...before, tone: 'Be friendly.\nBe "brief".' } });
    await inWindow(async (page, window) => {
      await window.open(`/agents/${id}?tab=versions&version=${both.id}`);
      const skills = page.getByRole('region', { name: 'Skills' });
      await skills.getByRole('link', { name: 'greeting-people' }).waitFor();
      await skills.getByText(gone.id).waitFor();
      assert.equal(await skills.getByText(kept.id).count(), 0);
      await window.open('/settings?tab=history');
      const sections = page.getByRole('region', { name: 'Prompt sections' });
      assert.deepEqual(await sections.locator('ins').allTextContents(), ['tone', '  Be friendly.', '  Be "brief".']);
      assert.deepEqual(await findingsOf(page), []);
    });
    await call('update_bot_config', { promptSections: before });
    await call('delete_agent', { id });
    await call('delete_skill', { id: kept.id });
  });

  it('asks before a record of a database is deleted, and leads to its versions', async () => {
    const columns = [{ name: 'Company', type: 'string' }];
    const { id: databaseId } = await call('create_database', { name: 'Firms', columns });
    const { id } = await call('create_record', { databaseId, values: { Company: 'Okapi' } });
    await inWindow(async (page, window) => {
      await window.open(`/databases/${databaseId}`);
      await page.getByRole('button', { name: `Open ${id}` }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await call('get_record', { databaseId, id });
      await page.getByRole('button', { name: 'Delete record' }).click();
      await page.getByRole('link', { name: 'Restore it' }).click();
      await page.waitForURL(`**/history/database-record/${id}`);
      await page.locator('.version').nth(1).waitFor();
    });
    await call('delete_database', { id: databaseId });
  });
}
