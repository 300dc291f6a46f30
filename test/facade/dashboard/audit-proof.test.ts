import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withoutBrowser } from '../../support/chromium.ts';
import { findingsOf, PHONE, testDashboard } from '../../support/dashboard.ts';

// together: one browser
describe('the proof on the audit page', { skip: withoutBrowser }, () => {
  const { call, visit } = testDashboard();

  it('says that the log is intact, and when it was last signed, once that is asked', async () => {
    await call('create_skill', { name: 'proven', instructions: 'Once.' });
    await visit({ path: '/audit', viewport: PHONE }, async (page) => {
      await page.getByRole('button', { name: 'Verify' }).click();
      const said = page.getByRole('status').filter({ hasText: 'ntact' });
      await said.waitFor();
      assert.match((await said.textContent()) ?? '', /^Intact: [1-9]\d* entries, last signed at /);
      assert.deepEqual(await findingsOf(page), []);
    });
  });
});
