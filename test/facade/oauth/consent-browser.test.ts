import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { stoppedAtEnd } from '../../support/at-end.ts';
import { mustCall } from '../../support/calls.ts';
import { capsuleClients } from '../../support/capsules.ts';
import { complaintsOf, openBrowser, withoutBrowser } from '../../support/chromium.ts';
import { OAuthClient } from '../../support/oauth.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { signIn } from '../../support/sign-in.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** A folder for pictures of the pages, for whoever wants to look at them. */
const PICTURES = process.env.PICTURES;

// together: one browser
if (withoutBrowser) console.log(`SKIPPED: the consent pages in a real browser, for ${withoutBrowser}.`);

describe('the consent page in a real browser', { skip: withoutBrowser }, () => {
  let server: TestServer;
  let browser: Browser;
  let app: Server;
  let callback = '';
  let client: OAuthClient;
  let session: Promise<string> | undefined;
  const { make, endpoint } = capsuleClients(() => server);
  const admin = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);

  before(async () => {
    server = await startTestServer();
    browser = await openBrowser();
    app = stoppedAtEnd(
      createServer(({ url = '' }, response) => {
        if (!url.startsWith('/on')) return response.end('back in the app');
        const port = (app.address() as AddressInfo).port;
        return response.writeHead(302, { Location: `http://localhost:${port}/elsewhere` }).end();
      }),
    );
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    callback = `http://127.0.0.1:${(app.address() as AddressInfo).port}/callback`;
  });
  // A new one each time: a page begins with what the person let the same app do before.
  beforeEach(async () => {
    client = await OAuthClient.registered(server, { client_name: 'Desk', redirect_uris: [callback] });
  });
  after(async () => {
    await server?.close();
  });

  const ask = (parameters: Record<string, string> = {}) =>
    client.authorizeUrl({ redirect_uri: callback, ...parameters });

  async function signedIn(context: BrowserContext): Promise<void> {
    session ??= signIn(server); // once, as signing in often is refused
    const [name = '', value = ''] = (await session).split('=');
    await context.addCookies([{ name, value, url: server.baseUrl }]);
  }

  async function check(page: Page, picture: string): Promise<void> {
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/${picture}.png`, fullPage: true });
    assert.deepEqual(await findingsOf(page), [], picture);
  }

  it('a person who signed in long ago confirms that it is them, and the app is connected as they chose', async () => {
    const context = await browser.newContext({ viewport: { width: 480, height: 900 } });
    const complaints = complaintsOf(context);
    await signedIn(context);
    server.clock.pass(11 * 60_000);
    const page = await context.newPage();
    await page.goto(ask({ scope: 'read write admin' }));
    await page.getByLabel('Administer').check();
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
    await check(page, 'confirm');
    await page.goto((await admin('create_sign_in_link', { email: 'admin@localhost' })).url);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('back in the app').waitFor();
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    const { body } = await client.redeem(code, { redirect_uri: callback });
    assert.equal(body.scope, 'read write admin');
    assert.deepEqual(complaints, []);
    await context.close();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`a person signs in, chooses and is sent back (${colorScheme})`, async () => {
      await make({ name: 'Support', allowedTools: ['list_agents', 'get_agent'], status: 'live' });
      const context = await browser.newContext({ colorScheme, viewport: { width: 480, height: 900 } });
      const complaints = complaintsOf(context);
      const page = await context.newPage();
      await page.goto(ask({ scope: 'read write' }));
      await page.getByText('An app waits to be connected').waitFor();
      await check(page, `sign-in-${colorScheme}`);
      const { url } = await admin('create_sign_in_link', { email: 'admin@localhost' });
      await page.goto(url);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Connect an app on this computer?' }).waitFor();
      assert.ok(await page.getByLabel('Read', { exact: true }).isChecked());
      await check(page, `choice-${colorScheme}`);
      await page.getByLabel('Read and write').check();
      assert.ok(await page.getByText('delete_agent').first().isVisible());
      assert.equal(await page.getByText('update_settings').count(), 0, 'nobody asked to administer');
      await check(page, `choice-write-${colorScheme}`);
      await page.getByRole('button', { name: 'Connect' }).click();
      await page.getByText('back in the app').waitFor();
      const code = new URL(page.url()).searchParams.get('code') ?? '';
      const { status, body } = await client.redeem(code, { redirect_uri: callback });
      assert.deepEqual([status, body.scope], [200, 'read write']);
      assert.deepEqual(complaints, []);
      await context.close();
    });

    it(`somebody with the token connects a capsule, without script (${colorScheme})`, async () => {
      const capsule = await make({ name: 'Support', allowedTools: ['list_agents', 'get_agent'], status: 'live' });
      const resource = endpoint(capsule.id);
      const context = await browser.newContext({ colorScheme, viewport: { width: 390, height: 800 } });
      const complaints = complaintsOf(context);
      const page = await context.newPage();
      await page.goto(ask({ resource }));
      await check(page, `token-${colorScheme}`);
      await page.getByLabel('Token of this address').fill('cpt_wrong');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').filter({ hasText: 'This is not a token of this address' }).waitFor();
      await check(page, `token-wrong-${colorScheme}`);
      await page.getByLabel('Token of this address').fill(capsule.token);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText('the capsule Support').waitFor();
      await check(page, `capsule-${colorScheme}`);
      await page.getByRole('button', { name: 'Connect' }).click();
      await page.getByText('back in the app').waitFor();
      assert.deepEqual(complaints, []);
      await context.close();
    });
  }

  it('works without script, and cancels', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    await signedIn(context);
    const page = await context.newPage();
    await page.goto(ask());
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('back in the app').waitFor();
    assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');
    await context.close();
  });

  it('lets an app send the person on to another of its addresses', async () => {
    const redirect = callback.replace('/callback', '/on');
    const other = await OAuthClient.registered(server, { redirect_uris: [redirect] });
    const context = await browser.newContext();
    const complaints = complaintsOf(context);
    await signedIn(context);
    const page = await context.newPage();
    await page.goto(other.authorizeUrl({ redirect_uri: redirect }));
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByText('back in the app').waitFor();
    assert.equal(new URL(page.url()).hostname, 'localhost');
    assert.deepEqual(complaints, []);
    await context.close();
  });

  it('is in no frame', async () => {
    const context = await browser.newContext();
    await signedIn(context);
    const page = await context.newPage();
    const evil = `<iframe src="${ask().replaceAll('&', '&amp;')}"></iframe>`;
    await page.route('http://evil.example/', (route) => route.fulfill({ contentType: 'text/html', body: evil }));
    await page.goto('http://evil.example/');
    const [, frame] = page.frames();
    await frame?.waitForLoadState().catch(() => undefined);
    assert.equal(await frame?.getByRole('button', { name: 'Connect' }).count(), 0);
    await context.close();
  });

  it('shows a person who opens the address of an endpoint what it is for', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({ colorScheme, viewport: { width: 390, height: 900 } });
      const page = await context.newPage();
      const answer = await page.goto(`${server.baseUrl}/api/v1/mcp`);
      assert.equal(answer?.status(), 401);
      await page.getByRole('heading', { name: 'Claude Code' }).waitFor();
      await check(page, `address-${colorScheme}`);
      await context.close();
    }
  });
});

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly impact: string; readonly help: string }[];
}

async function findingsOf(page: Page): Promise<unknown> {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(
    () => (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(), // axe puts itself there
  );
  return violations.map(({ id, impact, help }) => ({ id, impact, help }));
}
