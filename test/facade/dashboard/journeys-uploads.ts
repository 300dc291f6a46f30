import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { findingsOf, type TestDashboard } from '../../support/dashboard.ts';
import { docxOf, encryptedPdf, heading, paragraph, pdfOf } from '../../support/document-files.ts';

/** Files that become documents. */
export function uploadJourneys({ call, visit }: TestDashboard): void {
  it('makes documents of files that are dropped anywhere on their page, and says of each what failed', async () => {
    const files = [
      { name: 'Travel policy.pdf', bytes: pdfOf(['Trains are booked by the office.', 'Flights need a reason.']) },
      { name: 'Onboarding.docx', bytes: docxOf(heading('First day') + paragraph('Fetch your badge.')) },
      { name: 'locked.pdf', bytes: encryptedPdf() },
    ];
    const given = files.map(({ name, bytes }) => ({ name, base64: bytes.toString('base64') }));
    await visit('/documents', async (page) => {
      await page.getByRole('button', { name: 'Upload files' }).waitFor();
      const data = await page.evaluateHandle(`(() => {
        const transfer = new DataTransfer();
        for (const { name, base64 } of ${JSON.stringify(given)}) {
          transfer.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
        }
        return transfer;
      })()`);
      await page.dispatchEvent('main', 'dragenter', { dataTransfer: data });
      await page.getByText('Drop files to make documents of them').waitFor();
      await page.dispatchEvent('main', 'drop', { dataTransfer: data });
      await page.getByText('2 uploaded, 1 failed').waitFor();
      await page.getByText('The PDF is protected by a password; remove the password and send it again.').waitFor();
      if (process.env.UPLOADS_PICTURE) await page.screenshot({ path: process.env.UPLOADS_PICTURE });
      assert.deepEqual(await findingsOf(page), []);
      await page.getByRole('link', { name: 'Travel policy.pdf' }).click();
      await page.getByText('Flights need a reason.').waitFor();
      const link = page.locator('p', { hasText: 'Made of' }).getByRole('link', { name: 'Travel policy.pdf' });
      const [saved] = await Promise.all([page.waitForEvent('download'), link.click()]);
      assert.equal(saved.suggestedFilename(), 'Travel policy.pdf');
      assert.ok(readFileSync(await saved.path()).equals(files[0]?.bytes ?? assert.fail()));
    });
    const { data } = await call('list_documents', { limit: 100 });
    const titles = data.map(({ title }: { title: string }) => title);
    assert.deepEqual(
      ['Travel policy', 'Onboarding', 'locked'].map((title) => titles.includes(title)),
      [true, true, false],
    );
  });

  it('makes documents of files that are chosen', async () => {
    await visit('/documents', async (page) => {
      const file = { name: 'prices.csv', mimeType: 'text/csv', buffer: Buffer.from('plan,price\nPRO,10\n') };
      await page.getByLabel('Files to upload').setInputFiles(file);
      await page.getByText('1 uploaded').waitFor();
      await page.getByRole('button', { name: 'Close the list of uploads' }).click();
      await page.getByRole('link', { name: 'prices' }).first().waitFor();
    });
  });
}
