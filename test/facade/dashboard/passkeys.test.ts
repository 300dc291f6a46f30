import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { withoutBrowser } from '../../support/chromium.ts';
import { type DashboardWindow, findingsOf, settled, testDashboard } from '../../support/dashboard.ts';
import { startDemoServer } from '../../support/demo.ts';

// together: one browser
if (withoutBrowser) console.log(`SKIPPED: passkeys in a real browser, for ${withoutBrowser}.`);

/** A device that keeps passkeys, and whose person can fail to show who they are. */
class VirtualDevice {
  readonly #cdp: CDPSession;
  readonly #authenticatorId: string;

  private constructor(cdp: CDPSession, authenticatorId: string) {
    this.#cdp = cdp;
    this.#authenticatorId = authenticatorId;
  }

  static async in(page: Page): Promise<VirtualDevice> {
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return new VirtualDevice(cdp, authenticatorId);
  }

  async knowsPerson(isUserVerified: boolean): Promise<void> {
    await this.#cdp.send('WebAuthn.setUserVerified', { authenticatorId: this.#authenticatorId, isUserVerified });
  }
}

describe('passkeys in a real browser', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startDemoServer({ HOST: 'localhost' }));
  const { call, inWindow } = dashboard;

  it('are added, sign in, and confirm that it is still the same person', async () => {
    await inWindow(walk, { fresh: true });
  });

  async function walk(page: Page, { open }: DashboardWindow): Promise<void> {
    const device = await VirtualDevice.in(page);

    await open('/account');
    await page.getByText('No passkey yet').waitFor();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    assert.match(await page.getByLabel('Name').inputValue(), /^Chrome/);
    await page.getByLabel('Name').fill('Laptop');
    await device.knowsPerson(false);
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('alert').getByText('No passkey was used').waitFor();
    await device.knowsPerson(true);
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('cell', { name: 'Laptop', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('button', { name: 'Add passkey' }).click();
    await page.getByRole('alert').getByText('already has a passkey of yours').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Actions for Laptop' }).click();
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Work laptop');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'Work laptop', exact: true }).waitFor();
    assert.deepEqual(await findingsOf(page), []);

    await device.knowsPerson(false); // or it takes what the browser suggests in the e-mail field at once
    await page.locator('.person-button').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    const button = page.getByRole('button', { name: 'Sign in with a passkey' });
    await button.click();
    await page.getByRole('alert').getByText('No passkey was used').waitFor();
    assert.deepEqual(await findingsOf(page), []);
    await device.knowsPerson(true);
    await button.click();
    await page.waitForURL(`${dashboard.server.baseUrl}/`);
    await settled(page);

    dashboard.server.clock.pass(10 * 60_000);
    await open('/keys/new');
    await page.getByLabel('Name').fill('by passkey');
    await page.getByRole('button', { name: 'Create key' }).click();
    const question = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await device.knowsPerson(false);
    await question.getByRole('button', { name: 'Use a passkey' }).click();
    await question.getByText('No passkey was used').waitFor();
    assert.deepEqual(await findingsOf(page), []);
    await device.knowsPerson(true);
    await question.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('Copy it now').waitFor();
    assert.equal((await call('list_api_keys', { limit: 1 })).data[0].name, 'by passkey');
    await page.getByRole('button', { name: 'I have it' }).click();

    dashboard.server.clock.pass(10 * 60_000);
    await open('/integrations/new');
    await page.getByLabel(/^Name/).fill('Cat');
    await page.getByRole('radio', { name: /^As a program here/ }).check();
    await page.getByLabel('Command').fill('/bin/cat');
    await page.getByRole('checkbox', { name: 'Enabled' }).uncheck();
    await page.getByRole('button', { name: 'Create integration' }).click();
    await question.getByRole('button', { name: 'Use a passkey' }).click();
    await page.waitForURL(/\/integrations\/int_/);
    assert.equal((await call('list_integrations', { limit: 1 })).data[0].command, '/bin/cat');

    await open('/account');
    await page.getByRole('button', { name: 'Actions for Work laptop' }).click();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove passkey' }).click();
    await page.getByText('No passkey yet').waitFor();
  }
});
