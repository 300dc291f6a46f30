import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { complaintsOf, openBrowser, withoutBrowser } from '../../support/chromium.ts';
import { type OidcIssuer, startOidcIssuer } from '../../support/oidc-issuer.ts';
import { ADA, nextLink, startWorkspace, type Workspace } from './workspace.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// together: one browser
if (withoutBrowser) console.log(`SKIPPED: the sign-in pages in a real browser, for ${withoutBrowser}.`);

describe('in a real browser', { skip: withoutBrowser }, () => {
  let workspace: Workspace;
  let issuer: OidcIssuer;
  let browser: Browser;
  before(async () => {
    issuer = await startOidcIssuer();
    issuer.person = { email: ADA, email_verified: true };
    const { url: OIDC_ISSUER, clientId: OIDC_CLIENT_ID } = issuer;
    workspace = await startWorkspace({ OIDC_ISSUER, OIDC_CLIENT_ID });
    browser = await openBrowser();
  });
  after(async () => {
    await workspace.close();
    await issuer.close();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const javaScriptEnabled of [true, false]) {
      const how = `${colorScheme}${javaScriptEnabled ? '' : ', without script'}`;

      it(`a person asks for a link, follows it, sees who they are and signs out (${how})`, async () => {
        const context = await browser.newContext({ colorScheme, javaScriptEnabled });
        const complaints = complaintsOf(context);
        const page = await context.newPage();
        // axe itself is script
        const check = async () => javaScriptEnabled && assert.deepEqual(await findingsOf(page), []);
        await page.goto(workspace.baseUrl);
        assert.equal(await page.title(), 'Sign in – Workspace');
        await check();
        await page.getByLabel('Email').fill(ADA);
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'A link is on its way' }).waitFor();
        await check();
        await page.goto(await nextLink(workspace));
        await check();
        await page.getByRole('button', { name: 'Sign in' }).click();
        if (javaScriptEnabled) await page.getByRole('button', { name: 'Ada' }).click();
        else await page.getByText('You are signed in as ada@example.com').waitFor();
        assert.equal(new URL(page.url()).pathname, '/');
        const [session] = (await context.cookies()).filter(({ name }) => name === 'admin-session');
        assert.deepEqual([session?.httpOnly, session?.sameSite], [true, 'Lax']);
        await check();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByRole('status').filter({ hasText: 'You are signed out.' }).waitFor();
        await check();
        assert.deepEqual(complaints, []);
        await context.close();
      });
    }
  }

  it('a person continues with the provider', async () => {
    const page = await browser.newPage();
    await page.goto(`${workspace.baseUrl}/sign-in`);
    await page.getByRole('link', { name: /^Continue with/ }).click();
    await page.getByRole('button', { name: 'Ada' }).waitFor();
    await page.close();
  });

  it('problems are shown in words, also to people who cannot see the page', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${workspace.baseUrl}/sign-in`);
    await page.getByLabel('Email').evaluate((input) => {
      input.setAttribute('type', 'text');
    });
    await page.getByLabel('Email').fill('ada');
    await page.getByRole('button', { name: 'Send me a link' }).click();
    await page.getByRole('alert').filter({ hasText: 'Enter a whole e-mail address' }).waitFor();
    assert.equal(await page.getByLabel('Email').getAttribute('aria-invalid'), 'true');
    assert.deepEqual(await findingsOf(page), []);
    await page.goto(`${workspace.baseUrl}/sign-in/link?token=made-up`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'This link does not sign you in' }).waitFor();
    assert.deepEqual(await findingsOf(page), []);
    await context.close();
  });

  it('a page of another site sends no form of its own', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${workspace.baseUrl}/sign-in`);
    const [, token = ''] = /name="form" value="([^"]*)"/.exec(await page.content()) ?? [];
    const evil = `<form method="post" action="${workspace.baseUrl}/sign-in"><input name="form" value="${token}"><input name="email" value="${ADA}"><button>Win</button></form>`;
    await page.route('http://evil.example/', (route) => route.fulfill({ contentType: 'text/html', body: evil }));
    await page.goto('http://evil.example/');
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().startsWith(workspace.baseUrl)),
      page.getByRole('button', { name: 'Win' }).click(),
    ]);
    assert.equal(answer.status(), 403);
    await context.close();
  });
});

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly impact: string; readonly help: string }[];
}

async function findingsOf(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const results = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as AxeResults; // as axe documents
  return results.violations.map(({ id, impact, help }) => `${impact}: ${id}: ${help}`);
}
