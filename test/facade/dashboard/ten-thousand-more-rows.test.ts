import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Transaction } from '../../../store/port.ts';
import { auditRecord, runRecord } from '../../store/records.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { testDashboard } from '../../support/dashboard.ts';
import {
  COUNT,
  findLoadedRow,
  ROWS,
  requireFewNodes,
  scrollToEnd,
  scrollToRow,
  titleOf,
} from '../../support/long-list-page.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';

const numbers = Array.from({ length: COUNT }, (_, n) => n);
const client = { host: 'example.com', verified: false };
const by = { type: 'api-key', id: 'key_1' };

/** Every tenth has another status. */
const isTenth = (n: number) => n % 10 === 0;

const approvalRecord = (n: number) => ({
  tool: 'delete_skill',
  arguments: { id: titleOf(n) },
  by: { ...by, name: titleOf(n) },
  scopes: ['write'],
  expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
  status: isTenth(n) ? ('rejected' as const) : ('waiting' as const),
  slot: `slot ${n}`,
  askedBy: by.id,
  callerKey: 'x',
  callKey: `call ${n}`,
  definition: 'x',
  persons: [],
  runAs: { ...by, name: 'x' },
  door: 'rest',
  requestId: 'req_1',
});

interface List {
  readonly path: string;
  readonly fill: (tx: Transaction) => unknown;
  /** The label of the choice that narrows it, the value, and what the rows show then. Default: what is typed narrows it. */
  readonly choice?: readonly [label: string, value: string, shown: string];
}

const LISTS: readonly List[] = [
  {
    path: '/apps',
    fill: (tx) =>
      tx.connectedApps.insertAll(
        numbers.map((n) => ({
          clientId: `https://example.com/${n}`,
          client: { ...client, name: titleOf(n) },
          resource: 'https://example.com/mcp',
          scopes: ['read'],
        })),
      ),
  },
  {
    path: '/apps?tab=clients',
    fill: (tx) =>
      tx.oauthClients.insertAll(
        numbers.map((n) => ({
          clientId: `https://example.com/${n}`,
          kind: 'registered' as const,
          name: titleOf(n),
          redirectUris: ['https://example.com/back'],
          metadata: {},
        })),
      ),
  },
  {
    path: '/models',
    fill: (tx) =>
      tx.modelProviders.insertAll(
        numbers.map((n) => ({ name: titleOf(n), kind: 'openai' as const, enabled: false, createdBy: 'usr_1' })),
      ),
  },
  {
    path: '/runs',
    fill: (tx) =>
      tx.agentRuns.insertAll(
        numbers.map((n) => runRecord({ status: isTenth(n) ? 'cancelled' : 'succeeded', accessKeys: ['admin'] })),
      ),
    choice: ['Status', 'cancelled', 'Cancelled'],
  },
  {
    path: '/audit',
    fill: (tx) => {
      for (const n of numbers)
        tx.audit.append(
          auditRecord({
            tool: 'update_skill',
            door: isTenth(n) ? 'stdio' : 'rest',
            principal: { ...by, name: titleOf(n) } as never,
          }),
        );
    },
    choice: ['Via', 'stdio', 'Local program'],
  },
  {
    path: '/approvals',
    fill: (tx) => tx.approvals.insertAll(numbers.map(approvalRecord)),
    choice: ['Status', 'rejected', 'Rejected'],
  },
];

// together: one browser
describe('more lists of 10,000 records in the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer({ RATE_LIMIT_PER_MINUTE: '0' }));
  const { call, visit } = dashboard;

  for (const { path, fill, choice } of LISTS) {
    it(`shows, pages and filters with few rows drawn: ${path}`, async () => {
      await dashboard.server.store.transaction(async (tx) => void (await fill(tx)));
      await visit(path, async (page) => {
        await scrollToRow(page, 300);
        await requireFewNodes(page);
        if (choice) await narrow(page, choice);
        else await findLoadedRow(page);
      });
    });
  }

  it('shows, pages and filters with few rows drawn: /users', async () => {
    for (let first = 0; first < COUNT; first += 1000) {
      const records = numbers.slice(first, first + 1000).map((n) => {
        return { uid: titleOf(n), email: `${titleOf(n)}@example.com`, status: 'FREE', createdAt: '2026-01-01' };
      });
      await call('import_records', { type: 'users', records });
    }
    await visit('/users', async (page) => {
      await scrollToRow(page, 300);
      await requireFewNodes(page);
      await findLoadedRow(page);
    });
  });

  it('shows, pages and filters with few rows drawn: the records of a database', async () => {
    const columns = [
      { name: 'Title', type: 'string' },
      { name: 'Size', type: 'number' },
    ];
    const { id: databaseId } = await call('create_database', { name: 'Stock', columns });
    await call('create_record', { databaseId, values: { Title: 'x', Size: 1 } });
    await dashboard.server.store.transaction(async (tx) => {
      const first = await tx.databaseRecords.first({ where: { databaseId: String(databaseId) } });
      assert.ok(first);
      const { id: _, createdAt: __, updatedAt: ___, revision: ____, ...record } = first;
      const [title = '', size = ''] = Object.keys(record.values);
      await tx.databaseRecords.insertAll(
        numbers.map((n) => ({ ...record, values: { [title]: titleOf(n), [size]: n } })),
      );
    });
    await visit(`/databases/${databaseId}`, async (page) => {
      await scrollToRow(page, 300);
      await requireFewNodes(page);
      await findLoadedRow(page, '[aria-label="Records"]');
    });
  });

  it('opens records far down a list, where no tool gets one by itself', async () => {
    const made = { kind: 'http', name: 'harbour', baseUrl: 'https://example.com' };
    const { id } = await call('create_connection', made);
    const apps = await dashboard.server.store.transaction(async (tx) => {
      const { id: _, createdAt: __, updatedAt: ___, revision: ____, ...record } = await tx.connections.read(String(id));
      await tx.connections.insertAll(numbers.slice(0, 150).map((n) => ({ ...record, name: titleOf(n) })));
      return (await tx.connectedApps.find({ limit: 250 })).records;
    });
    const app = apps.at(-1);
    assert.ok(app);
    await visit(`/connections/${id}`, async (page, window) => {
      await page.getByRole('heading', { name: 'harbour' }).waitFor();
      await window.go(`/apps/${app.id}`);
      await page.getByRole('heading', { name: app.client.name }).waitFor();
    });
  });

  it('shows, pages and filters with few cards drawn: /tasks as a board', async () => {
    const { id } = await call('create_task', { title: 'x' });
    await dashboard.server.store.transaction(async (tx) => {
      const { id: _, createdAt: __, updatedAt: ___, revision: ____, ...record } = await tx.tasks.read(String(id));
      const statuses = ['todo', 'in_progress', 'blocked', 'done'] as const;
      await tx.tasks.insertAll(
        numbers.map((n) => ({ ...record, title: titleOf(n), status: statuses[n % 4] ?? 'todo' })),
      );
    });
    await visit('/tasks', async (page) => {
      const cards = page.getByRole('region', { name: 'Done' }).locator('.board-card');
      await cards.first().waitFor();
      await requireFewNodes(page);
      const numberOf = async () => Number(/row-(\d{5})/.exec((await cards.last().textContent()) ?? '')?.[1]);
      // Newest first: the 300th of the column has a number that is 1,200 lower.
      await until(async () => {
        if ((await numberOf()) < COUNT - 4 * 300) return true;
        await scrollToEnd(page, '.board-card');
        return false;
      });
      await requireFewNodes(page);
      const found = titleOf(await numberOf());
      await page.getByRole('searchbox').fill(found);
      const all = page.locator('.board-card');
      await until(async () => (await all.count()) === 1);
      await all.getByText(found).waitFor();
    });
  });
});

/** Only rows that show it are left, and so many that there are more pages. */
async function narrow(page: Page, [label, value, shown]: NonNullable<List['choice']>): Promise<void> {
  await page.evaluate('scrollTo(0, 0)');
  await page.getByLabel(label, { exact: true }).selectOption(value);
  const rows = page.locator(ROWS);
  await until(async () => {
    const texts = await rows.allTextContents();
    return texts.length > 10 && texts.every((text) => text.includes(shown));
  });
  await scrollToRow(page, 150);
  await requireFewNodes(page);
}
