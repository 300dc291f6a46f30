import type { Page } from 'playwright-core';
import type { Store } from '../../store/port.ts';
import { accessKeysWith } from '../../tools/core/access/visibility.ts';
import { agentRecord, memoryRecord } from '../store/records.ts';
import { mustCall } from '../support/calls.ts';
import { openBrowser } from '../support/chromium.ts';
import { type DashboardWindow, openDashboard } from '../support/dashboard.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { timed } from './timing.ts';

/**
 * How lists of many records feel in the dashboard: until a list, a filter, a search and a change are shown, and what scrolling costs. Run with
 * `npx tsx test/bench/long-lists.ts`; `BENCH_RECORDS` is the number of agents, of memories and of users.
 */
const COUNT = Number(process.env.BENCH_RECORDS ?? 100_000);
const SCROLLED = 5000;
const BATCH = 10_000;

async function fill(store: Store): Promise<void> {
  const accessKeys = await accessKeysWith(store, {});
  for (let from = 0; from < COUNT; from += BATCH) {
    await store.transaction(async (tx) => {
      for (let n = from; n < Math.min(COUNT, from + BATCH); n += 1) {
        await tx.agents.insert(agentRecord(`agent-${n}`, { status: n % 10 === 0 ? 'paused' : 'active' }));
        const content = `Fact ${n} about the ${n % 7 === 0 ? 'harbour' : 'garden'}.`;
        await tx.memories.insert(memoryRecord(content, { accessKeys }));
      }
    });
    const users = Array.from({ length: Math.min(BATCH, COUNT - from) }, (_, index) => userRow(from + index));
    const staged = await store.rows.stage({ type: 'users', rows: users, at: new Date().toISOString() });
    await store.transaction(async (tx) => tx.rows.commit(staged));
  }
}

function userRow(n: number) {
  const at = new Date(Date.UTC(2025, 0, 1) + n * 60_000).toISOString();
  return { uid: `user_${n}`, email: `person.${n}@example.com`, status: 'FREE', createdAt: at };
}

interface Asked {
  readonly path: string;
  readonly tool: string;
  /** The call that changes a record, by its id and a word that then stands in its row; undefined where rows come by import alone. */
  readonly change?: (id: string, word: string) => readonly [tool: string, input: object];
  /** What is typed into the filter; it stands in the rows that are found. */
  readonly word: string;
}

async function measure(
  { page, open }: DashboardWindow,
  server: TestServer,
  { path, tool, word, change }: Asked,
): Promise<Record<string, unknown>> {
  const first = await timed(() => open(path));
  await page.evaluate(WATCH);
  const scrolled = await timed(() => scroll(page));
  const most = await page.evaluate('globalThis.mostNodes');
  const stalls = (await page.evaluate('globalThis.stalls')) as number[]; // as WATCH keeps them
  await page.evaluate('scrollTo(0, 0)');
  const typed = await timed(async () => {
    await page.getByRole('searchbox').pressSequentially(word, { delay: 60 });
    await page.locator('tbody tr').first().getByText(word).waitFor();
  });
  const { data } = await mustCall(server, server.adminKey, tool, { limit: 1 });
  const changed = change && (await timed(() => changeShown(page, server, change(data[0].id, 'Rewritten'))));
  const answered = await timed(() => mustCall(server, server.adminKey, tool, { limit: 100, includeTotal: true }));
  return {
    'first shown ms': first.ms,
    [`to row ${SCROLLED} ms`]: scrolled.ms,
    'most nodes': most,
    'tasks over 50 ms': stalls.length,
    'longest ms': Math.round(Math.max(0, ...stalls)),
    'typed and found ms': typed.ms,
    'changed and shown ms': changed?.ms,
    'answer of the tool ms': answered.ms,
  };
}

/** Changes the newest record by a call of somebody else, until the list, without a filter, shows it. */
async function changeShown(page: Page, server: TestServer, [tool, input]: readonly [string, object]): Promise<void> {
  await page.getByRole('searchbox').fill('');
  await mustCall(server, server.adminKey, tool, input);
  await page.locator('tbody tr').first().getByText('Rewritten').waitFor();
}

/** Counts the nodes of the page after each frame, and long tasks. */
const WATCH = `
  globalThis.mostNodes = 0;
  globalThis.stalls = [];
  new PerformanceObserver((list) => globalThis.stalls.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
  const look = () => {
    globalThis.mostNodes = Math.max(globalThis.mostNodes, document.querySelectorAll('*').length);
    requestAnimationFrame(look);
  };
  look();
`;

async function scroll(of: Page): Promise<void> {
  for (;;) {
    await of.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    const last = await of.locator('tbody tr[aria-rowindex]').last().getAttribute('aria-rowindex');
    if (Number(last) > SCROLLED) return;
    await of.waitForTimeout(20);
  }
}

const server = await startTestServer({ LOG_LEVEL: 'info', RATE_LIMIT_PER_MINUTE: '0' }, { fill });
const browser = await openBrowser();
const window = await openDashboard(browser, server);
const figures: Record<string, unknown>[] = [];
for (const asked of [
  {
    path: '/agents',
    tool: 'list_agents',
    word: 'agent-99',
    change: (id: string, displayName: string) => ['update_agent', { id, displayName }] as const,
  },
  {
    path: '/memory',
    tool: 'list_memories',
    word: 'harbour',
    change: (id: string, content: string) => ['update_memory', { id, content }] as const,
  },
  { path: '/users', tool: 'list_users', word: 'person.99' },
]) {
  const figure = { list: asked.path.slice(1), ...(await measure(window, server, asked)) };
  console.log(JSON.stringify(figure));
  figures.push(figure);
}
console.table(figures);
await window.close();
await browser.close();
await server.close();
