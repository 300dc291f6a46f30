import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withoutBrowser } from '../../support/chromium.ts';
import { testDashboard } from '../../support/dashboard.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';

// together: one browser
describe('what others change, on an open page', { skip: withoutBrowser }, () => {
  const { call, inWindow } = testDashboard(() => startTestServer());

  it('is asked for ever less often where each stream ends at once, and is shown when one lasts again', async () => {
    const { id } = await call('create_skill', { name: 'heard', instructions: 'One.' });
    await inWindow(
      async (page, window) => {
        let asked = 0;
        let endsAtOnce = true;
        await page.clock.install();
        await page.route('**/api/v1/mcp', (route) => {
          const request = route.request();
          if (request.headers()['mcp-method'] !== 'subscriptions/listen' || !endsAtOnce) return route.continue();
          asked += 1;
          const end = { jsonrpc: '2.0', id: request.postDataJSON().id, result: {} };
          return route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(end)}\n\n` });
        });
        await window.open(`/skills/${id}`);
        await until(() => asked > 0);
        for (let seconds = 0; seconds < 120; seconds += 1) await page.clock.runFor(1000);
        assert.ok(asked >= 4 && asked <= 20, `${asked} times in two minutes`);
        endsAtOnce = false;
        await call('update_skill', { id, instructions: 'Two.' });
        await until(async () => {
          await page.clock.runFor(1000);
          return page.getByText('Two.').isVisible();
        });
        await call('update_skill', { id, instructions: 'Three.' });
        await until(async () => {
          await page.clock.runFor(1000);
          return page.getByText('Three.').isVisible();
        });
      },
      { fresh: true },
    );
    await call('delete_skill', { id });
  });
});
