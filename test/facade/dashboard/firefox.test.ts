import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { mustCall } from '../../support/calls.ts';
import { inPage, PHONE, WIDE } from '../../support/dashboard.ts';
import { startDemoServer } from '../../support/demo.ts';
import { type FirefoxWindow, openFirefox, withoutFirefox } from '../../support/firefox.ts';
import { FULL } from '../../support/full.ts';
import type { TestServer } from '../../support/server.ts';

const skip = FULL ? withoutFirefox : 'it takes long: FULL=1';
if (skip) console.log(`SKIPPED: the dashboard in Firefox, for ${skip}.`);

// One window for all of it, as one person uses it.
describe('the dashboard in Firefox', { skip }, () => {
  let server: TestServer;
  let window: FirefoxWindow;
  const call = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);
  before(async () => {
    server = await startDemoServer();
    window = await openFirefox(server);
    await window.page.setViewport(WIDE);
  });

  /** Runs a part, in which nothing may be complained of. */
  function part(name: string, work: (window: FirefoxWindow) => Promise<void>): void {
    it(name, async () => {
      const before = window.complaints.length;
      await work(window);
      assert.deepEqual(window.complaints.slice(before), []);
    });
  }

  part('signs a person in by a link', async ({ page, the, isAt }) => {
    const { url } = await call('create_sign_in_link', { email: 'admin@localhost' });
    await page.goto(url);
    assert.ok(await page.evaluate(inPage.fits));
    await the('button', 'Sign in').click();
    await isAt(/^\/$/);
  });

  for (const [name, size] of Object.entries({ wide: WIDE, 'of a phone': PHONE })) {
    part(`shows every page in a window that is ${name}`, async ({ page, open, go }) => {
      await page.setViewport(size);
      await open('/');
      const paths = (await page.evaluate(inPage.paths)) as readonly string[];
      assert.ok(paths.length > 20, paths.join());
      for (const path of paths) {
        await go(path);
        assert.deepEqual(await page.evaluate(inPage.errors), [], path);
        assert.ok(await page.evaluate(inPage.fits), `${path} is too wide`);
      }
      await page.setViewport(WIDE);
    });
  }

  part('makes, changes and deletes a record by its forms', async ({ go, the, field, isAt, shows }) => {
    await go('/skills/new');
    await field('Name').fill('brevity');
    await field('Instructions').fill('Be brief.');
    await the('button', 'Create skill').click();
    await isAt(/^\/skills\/skl_/);
    const [made] = (await call('list_skills', { q: 'brevity' })).data;
    await go(`/skills/${made.id}/edit`);
    // More of the same, because this driver clears a field in a way that the page does not hear.
    await field('Instructions').fill('Be brief. Be clear.');
    await the('button', 'Save').click();
    await isAt(new RegExp(`^/skills/${made.id}$`));
    assert.equal((await call('get_skill', { id: made.id })).instructions, 'Be brief. Be clear.');
    await the('button', 'More actions').click();
    await the('button', 'Delete').click();
    await the('button', 'Delete skill').click();
    await shows('Restore it');
    assert.deepEqual((await call('list_skills', { q: 'brevity' })).data, []);
  });

  part('has one turn of a chat', async ({ page, go, the, shows }) => {
    const rehearsal = { displayName: 'Rex', tools: ['list_*'], modelPreference: 'offline/rehearsal' };
    await call('create_agent', { name: 'rex', ...rehearsal });
    await go('/chat/new');
    await page.locator('::-p-text(Rex)').click();
    await the('textbox', 'Message').fill('/list_agents {"limit": 2}');
    await page.keyboard.press('Enter');
    await shows('Called list_agents');
    await the('button', 'Send').wait();
  });

  part('finds a page by the command palette', async ({ page, go, the, isAt }) => {
    await go('/');
    await page.keyboard.press('/');
    await the('combobox', 'Find a page, a record, or what to do').fill('agents');
    await page.keyboard.press('Enter');
    await isAt(/^\/agents$/);
  });

  part('signs out', async ({ page, the, isAt, shows }) => {
    await page.locator('.person-button').click();
    await the('button', 'Sign out').click();
    await shows('You are signed out.');
    await isAt(/^\/sign-in/);
  });
});
