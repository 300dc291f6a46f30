import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { mustCall } from '../../support/calls.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { testDashboard, WIDE } from '../../support/dashboard.ts';
import { startDemoServer } from '../../support/demo.ts';
import { openFirefox, withoutFirefox } from '../../support/firefox.ts';
import { inChromium, inFirefox, type Person } from '../../support/person.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { JOURNEYS, type JourneyWorld } from './ten-journeys.ts';

const workspaces = { 'a fresh workspace': () => startTestServer(), 'the demo': () => startDemoServer() };
/** In Firefox they take minutes, so they are run there by hand: `JOURNEYS=firefox`. */
const IN_FIREFOX = process.env.JOURNEYS === 'firefox';

for (const [workspace, start] of Object.entries(workspaces)) {
  describe(`the journeys in ${workspace}, in Chromium`, { skip: withoutBrowser }, () => {
    const dashboard = testDashboard(start);
    for (const { name, most, run } of JOURNEYS) {
      it(name, (test) =>
        dashboard.visit('/', async (page, window) => {
          const person = inChromium(window);
          await person.begin('/');
          await run(person, { server: dashboard.server, evaluate: (source) => page.evaluate(source) });
          test.diagnostic(`${person.steps} presses and fields`);
          assert.ok(person.steps <= most, `${person.steps} presses and fields`);
        }),
      );
    }
  });

  if (!IN_FIREFOX) continue;
  describe(`the journeys in ${workspace}, in Firefox`, { skip: withoutFirefox }, () => {
    let person: Person;
    let world: JourneyWorld;
    before(async () => {
      const server: TestServer = await start();
      const window = await openFirefox(server);
      await window.page.setViewport(WIDE);
      const { url } = await mustCall(server, server.adminKey, 'create_sign_in_link', { email: 'admin@localhost' });
      await window.page.goto(url);
      await window.the('button', 'Sign in').click();
      await window.isAt(/^\/$/);
      person = inFirefox(window);
      world = { server, evaluate: (source) => window.page.evaluate(source) };
    });
    for (const { name, most, run } of JOURNEYS) {
      it(name, async (test) => {
        await person.begin('/');
        await run(person, world);
        test.diagnostic(`${person.steps} presses and fields`);
        assert.ok(person.steps <= most, `${person.steps} presses and fields`);
      });
    }
  });
}
