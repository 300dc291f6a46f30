import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store } from '../../../store/port.ts';
import { withoutBrowser } from '../../support/chromium.ts';
import { testDashboard } from '../../support/dashboard.ts';
import { COUNT, findLoadedRow, requireFewNodes, scrollToRow, titleOf } from '../../support/long-list-page.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';

interface List {
  readonly path: string;
  /** Makes one record, of which the others are copies. */
  readonly tool: string;
  readonly input: object;
  readonly collection: keyof Store;
  /** The member that people know a record by. What has none is filtered in other ways. */
  readonly title?: string;
  /** What no two records may share. */
  readonly unique?: (n: number) => object;
}

const LISTS: readonly List[] = [
  {
    path: '/skills',
    tool: 'create_skill',
    input: { name: 'x', displayName: 'x', instructions: 'x' },
    collection: 'skills',
    title: 'name',
  },
  { path: '/projects', tool: 'create_project', input: { name: 'x' }, collection: 'projects', title: 'name' },
  { path: '/goals', tool: 'create_goal', input: { title: 'x' }, collection: 'goals', title: 'title' },
  { path: '/tasks?view=list', tool: 'create_task', input: { title: 'x' }, collection: 'tasks', title: 'title' },
  {
    path: '/documents',
    tool: 'create_document',
    input: { title: 'x', content: 'x' },
    collection: 'documents',
    title: 'title',
  },
  { path: '/memory', tool: 'create_memory', input: { content: 'x' }, collection: 'memories', title: 'content' },
  {
    path: '/artifacts',
    tool: 'create_artifact',
    input: { name: 'x', mimeType: 'text/plain', content: 'x' },
    collection: 'artifacts',
    title: 'name',
  },
  {
    path: '/databases',
    tool: 'create_database',
    input: { name: 'x', columns: [{ name: 'A', type: 'string' }] },
    collection: 'databases',
    title: 'name',
  },
  {
    path: '/reports',
    tool: 'create_report',
    input: { title: 'x', query: { tool: 'list_agents', arguments: {} } },
    collection: 'reports',
    title: 'title',
  },
  {
    path: '/flows',
    tool: 'create_flow',
    input: { name: 'x', steps: [{ id: 'a', tool: 'list_agents' }] },
    collection: 'flows',
    title: 'name',
  },
  {
    path: '/keys',
    tool: 'create_api_key',
    input: { name: 'x', scopes: ['read'] },
    collection: 'apiKeys',
    title: 'name',
    unique: (n) => ({ prefix: `pre${String(n).padStart(5, '0')}` }),
  },
  { path: '/capsules', tool: 'create_capsule', input: { name: 'x' }, collection: 'capsules', title: 'name' },
  {
    path: '/people',
    tool: 'create_admin_user',
    input: { email: 'x@example.com', name: 'x', role: 'member' },
    collection: 'adminUsers',
    title: 'name',
    unique: (n) => ({ email: `${titleOf(n)}@example.com` }),
  },
  { path: '/chat', tool: 'create_thread', input: { title: 'x' }, collection: 'threads', title: 'title' },
  {
    path: '/webhooks',
    tool: 'create_webhook',
    input: { name: 'x', target: { email: 'x@example.com' }, events: ['agent.updated'] },
    collection: 'webhooks',
    title: 'name',
  },
  {
    path: '/connections',
    tool: 'create_connection',
    input: { kind: 'http', name: 'x', baseUrl: 'https://example.com' },
    collection: 'connections',
    title: 'name',
  },
  {
    path: '/integrations',
    tool: 'create_integration',
    input: { name: 'x', toolPrefix: 'x', transport: 'http', url: 'http://127.0.0.1:9/mcp', enabled: false },
    collection: 'integrations',
    title: 'name',
    unique: (n) => ({ toolPrefix: `x${n}` }),
  },
  {
    path: '/budgets',
    tool: 'create_budget',
    input: { subject: { type: 'workspace' }, measure: 'calls', period: 'month', limit: 9_000_000 },
    collection: 'budgets',
    unique: (n) => ({ key: `of ${n}`, subject: { type: 'key', id: `key_${n}` } }),
  },
];

// together: one browser
describe('lists of 10,000 records in the dashboard', { skip: withoutBrowser }, () => {
  const dashboard = testDashboard(() => startTestServer({ RATE_LIMIT_PER_MINUTE: '0' }));
  const { call, visit } = dashboard;

  for (const { path, tool, input, collection, title, unique } of LISTS) {
    it(`shows, pages and filters with few rows drawn: ${path}`, async () => {
      const { id } = await call(tool, input);
      await dashboard.server.store.transaction(async (tx) => {
        // Of one collection at a time, so that its records are copies of one of its own.
        const writer = tx[collection as 'projects'];
        const { id: _, createdAt: __, updatedAt: ___, revision: ____, ...record } = await writer.read(id);
        const copies = Array.from({ length: COUNT - 1 }, (_, n) => ({
          ...record,
          ...(title && { [title]: titleOf(n) }),
          ...unique?.(n),
        }));
        await writer.insertAll(copies);
      });
      await visit(path, async (page) => {
        await scrollToRow(page, 300);
        await requireFewNodes(page);
        if (title) await findLoadedRow(page);
      });
    });
  }

  it('has words for what a column of a database holds', async () => {
    await visit('/databases/new', async (page) => {
      page.setDefaultTimeout(8000);
      await page.getByRole('button', { name: /^Add/ }).first().click();
      await page.locator('option', { hasText: 'Date and time' }).first().waitFor({ state: 'attached' });
    });
  });

  it('sorts product users by the head of their e-mails', async () => {
    const records = ['b', 'C', 'a'].map((name) => {
      return { uid: name, email: `${name}@example.com`, status: 'FREE', createdAt: '2026-01-01' };
    });
    await call('import_records', { type: 'users', records });
    await visit('/users', async (page) => {
      const titles = page.locator('.list-pane tbody .name-title');
      await page.getByRole('columnheader').first().getByRole('button').click();
      await until(
        async () => (await titles.allTextContents()).join().toLowerCase().replaceAll('@example.com', '') === 'a,b,c',
      );
      assert.match(page.url(), /by=email/);
    });
  });
});
