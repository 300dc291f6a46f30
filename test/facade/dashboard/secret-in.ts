import type { Page } from 'playwright-core';

/** The secret in the dialog that shows it once, which is then closed. */
export async function secretIn(page: Page): Promise<string> {
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Copy it now').waitFor();
  const secret = (await dialog.locator('.secret code').textContent()) ?? '';
  await dialog.getByRole('button', { name: 'I have it' }).click();
  await dialog.waitFor({ state: 'detached' });
  return secret;
}
