import { availableParallelism, loadavg } from 'node:os';
import type { Browser, Page } from 'playwright-core';
import { startProcess } from '../support/child.ts';
import { openBrowser } from '../support/chromium.ts';
import { openDashboard } from '../support/dashboard.ts';
import { pluck } from '../support/pluck.ts';
import { quantile } from './timing.ts';

/**
 * How soon Home is usable: from the start of the navigation until its numbers, its chart and what happened are painted, in a browser that
 * has kept nothing, at full speed and where the processor is four times slower. Run with `npx tsx test/bench/home.ts`; `BENCH_RUNS` is the
 * number of visits, of which the median counts.
 */
const RUNS = Number(process.env.BENCH_RUNS ?? 9);
const SLOWER = [1, 4];

interface Visit {
  readonly page: number;
  readonly script: number;
  readonly painted: number;
  readonly answered: number;
  readonly usable: number;
}

/** Notes the first frame after which nothing is missing. */
const WATCH = `
  const isUsable = () =>
    document.querySelectorAll('.headline-number').length === 4 &&
    document.querySelector('.uplot canvas') &&
    document.querySelector('.happened-row') &&
    !document.querySelector('main[aria-busy], .waiting, .skeleton');
  const look = () => {
    if (!isUsable()) return requestAnimationFrame(look);
    const channel = new MessageChannel();
    channel.port1.onmessage = () => (globalThis.usable = performance.now());
    channel.port2.postMessage(undefined);
  };
  requestAnimationFrame(look);
`;

const TIMES = `(() => {
  const entries = performance.getEntriesByType('resource');
  const end = (pattern) => Math.max(0, ...entries.filter(({ name }) => pattern.test(name)).map((entry) => entry.responseEnd));
  return {
    page: performance.getEntriesByType('navigation')[0].responseEnd,
    script: end(/assets\\/.*\\.js$/),
    painted: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    answered: end(/api\\/v1\\/mcp$/),
    usable: globalThis.usable,
  };
})()`;

async function visit(browser: Browser, slower: number): Promise<Visit> {
  const window = await openDashboard(browser, server);
  try {
    await slowDown(window.page, slower);
    await window.page.addInitScript(WATCH);
    await window.page.goto(server.baseUrl, { waitUntil: 'commit' });
    await window.page.waitForFunction(() => (globalThis as { usable?: number }).usable, undefined, { polling: 100 });
    return (await window.page.evaluate(TIMES)) as Visit; // as TIMES makes it
  } finally {
    await window.close();
  }
}

async function slowDown(page: Page, rate: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate });
}

const demo = await startProcess('', { LOG_LEVEL: 'warn' }, 'facade/commands/demo.ts');
const server = { baseUrl: demo.baseUrl, adminKey: /^ {2}(ak_\w+)$/m.exec(demo.stdout)?.[1] ?? '' };
const browser = await openBrowser();
const figures: Record<string, unknown>[] = [];
for (const slower of SLOWER) {
  await visit(browser, slower); // the server has answered these calls before, as that of a workspace in use
  const visits: Visit[] = [];
  for (let run = 0; run < RUNS; run += 1) visits.push(await visit(browser, slower));
  const of = (name: keyof Visit) => Math.round(quantile(pluck(visits, name)));
  figures.push({
    'times slower': slower,
    'page ms': of('page'),
    'first paint ms': of('painted'),
    'scripts ms': of('script'),
    'answers ms': of('answered'),
    'usable ms': of('usable'),
    'all usable ms': visits.map(({ usable }) => Math.round(usable)).join(' '),
  });
}
console.table(figures);
console.log(`${availableParallelism()} processors, load average ${loadavg()[0]?.toFixed(1)}, ${RUNS} visits each.`);
await browser.close();
await demo.stop('SIGTERM');
