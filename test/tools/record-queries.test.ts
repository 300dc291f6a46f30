import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MOST_RECORDS } from '../../tools/databases/scan-limit.ts';
import type { ToolAnswer } from '../support/calls.ts';
import { FULL } from '../support/full.ts';
import { pluck } from '../support/pluck.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const admin = principalOf({ type: 'session', id: 'usr_owner', scopes: ['*'] });
const columns = [
  { name: 'Name', type: 'string' },
  { name: 'Deal size', type: 'number' },
  { name: 'Won', type: 'boolean' },
  { name: 'Met at', type: 'date-time' },
  { name: 'Extra', type: 'json' },
];
const rows = [
  { Name: 'Ada', 'Deal size': 5, Won: true, 'Met at': '2026-03-01T10:00:00Z', Extra: { a: 1, b: 2 } },
  { Name: 'bert', 'Deal size': 12.5, Won: false, 'Met at': '2026-03-02T12:00:00+02:00' },
  { Name: 'Édith', 'Deal size': -1, Extra: [1] },
  { Name: 'ada', 'Met at': '2025-12-31T23:59:59Z' },
  { 'Deal size': 5, Won: true },
];

const ids: string[] = [];

const opened = await openTestRegistry();
const databaseId = await databaseOf(rows, ids);

async function databaseOf(given: readonly object[], made: string[] = []): Promise<string> {
  const { id } = await must('create_database', { name: 'Leads', columns });
  for (const values of given) made.push((await must('create_record', { databaseId: id, values })).id);
  return id;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
async function must(tool: string, input: object, principal = admin): Promise<any> {
  const answer: ToolAnswer = await opened.call(principal, tool, input);
  if ('error' in answer) throw new Error(`${tool}: ${JSON.stringify(answer.error)}`);
  return answer.output;
}

async function refused(input: object) {
  const answer = await opened.call(admin, 'list_records', { databaseId, ...input });
  return 'error' in answer ? answer.error : assert.fail(`not refused: ${JSON.stringify(input)}`);
}

/** Places of the records found, as they were made. */
async function found(input: object): Promise<number[]> {
  const { data } = await must('list_records', { databaseId, ...input });
  return data.map(({ id }: { id: string }) => ids.indexOf(id));
}

const filtered = async (filter: object) => (await found({ filter })).sort();
const sorted = (column: string, direction?: string) => found({ sort: { column, ...(direction && { direction }) } });

describe('list_records with filter', () => {
  it('finds by value, by comparison and by text', async () => {
    assert.deepEqual(await filtered({ Name: 'Ada' }), [0]);
    assert.deepEqual(await filtered({ Name: { ne: 'Ada' } }), [1, 2, 3, 4]);
    assert.deepEqual(await filtered({ Name: { contains: 'AD' } }), [0, 3]);
    assert.deepEqual(await filtered({ Name: { contains: 'edi' } }), [2]);
    assert.deepEqual(await filtered({ Name: { gt: 'ada' } }), [1, 2]);
    assert.deepEqual(await filtered({ Name: { lte: 'ada', gte: 'Ada' } }), [0, 3]);
    assert.deepEqual(await filtered({ 'Deal size': { gte: 5 } }), [0, 1, 4]);
    assert.deepEqual(await filtered({ 'Deal size': { gt: 5, lt: 13 } }), [1]);
    assert.deepEqual(await filtered({ 'Deal size': { lt: 0 } }), [2]);
    assert.deepEqual(await filtered({ Won: true, Name: null }), [4]);
    assert.deepEqual(await filtered({ Won: null }), [2, 3]);
    assert.deepEqual(await filtered({ Won: { ne: null } }), [0, 1, 4]);
    assert.deepEqual(await filtered({ 'Met at': '2026-03-01T11:00:00+01:00' }), [0]);
    assert.deepEqual(await filtered({ 'Met at': { gte: '2026-03-02T10:00:00Z' } }), [1]);
    assert.deepEqual(await filtered({ Extra: { eq: { b: 2, a: 1 } } }), [0]);
    assert.deepEqual(await filtered({ Extra: [1] }), [2]);
    assert.deepEqual(await filtered({}), [0, 1, 2, 3, 4]);
  });

  it('names everything that does not fit the columns', async () => {
    const paths = async (filter: object) => ((await refused({ filter })).issues ?? []).map(({ path }) => path).sort();
    assert.deepEqual(await paths({ Nmae: 'x', 'Deal size': '5', Won: { gt: true } }), [
      'filter.Nmae',
      'filter.Won.gt',
      'filter["Deal size"].eq',
    ]);
    assert.deepEqual(await paths({ 'Met at': { lt: 'tomorrow' } }), ['filter["Met at"].lt']);
    assert.deepEqual(await paths({ 'Deal size': { contains: '5' } }), ['filter["Deal size"].contains']);
    assert.deepEqual(await paths({ Name: {} }), ['filter.Name.eq']);
    assert.deepEqual(await paths({ Name: { contains: '' } }), ['filter.Name.contains']);
    assert.deepEqual(await paths({ Name: { lt: null } }), ['filter.Name.lt']);
    assert.deepEqual(await paths({ Name: ['Ada'] }), ['filter.Name.eq']);
    assert.deepEqual(await paths({ Name: 'a\0b' }), ['filter.Name']);
    const { issues = [] } = await refused({ filter: { Name: { startsWith: 'A' } } });
    assert.match(issues[0]?.message ?? '', /allowed: eq, ne, lt, lte, gt, gte, contains/);
  });
});

describe('list_records with sort', () => {
  it('puts records in order, those without a value last, equal ones newest first', async () => {
    assert.deepEqual(await sorted('Name'), [0, 3, 1, 2, 4]);
    assert.deepEqual(await sorted('Name', 'desc'), [2, 1, 3, 0, 4]);
    assert.deepEqual(await sorted('Deal size'), [2, 4, 0, 1, 3]);
    assert.deepEqual(await sorted('Deal size', 'desc'), [1, 4, 0, 2, 3]);
    assert.deepEqual(await sorted('Won', 'asc'), [1, 4, 0, 3, 2]);
    assert.deepEqual(await sorted('Met at', 'desc'), [1, 0, 3, 4, 2]);
  });

  it('refuses columns that are not there or have no order', async () => {
    for (const column of ['Nmae', 'Extra']) {
      const { issues = [] } = await refused({ sort: { column } });
      assert.equal(issues[0]?.path, 'sort.column');
      assert.match(issues[0]?.message ?? '', /sort by "Name", "Deal size", "Won", "Met at"/);
    }
    assert.equal((await refused({ sort: { column: 'Name', direction: 'up' } })).issues?.[0]?.path, 'sort.direction');
  });
});

describe('pages of filtered and sorted records', () => {
  const sizes = [3, 1, 2, 3, 1, 2, 3, 1, 2, 3, undefined, 1];

  async function pages(input: object, between: () => Promise<unknown> = async () => undefined) {
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await must('list_records', { ...input, limit: 2, ...(cursor && { cursor }) });
      seen.push(...pluck(page.data, 'id'));
      if (page.nextCursor === null) return seen;
      cursor = page.nextCursor;
      await between();
    }
  }

  it('follow one another without gap or repeat, with the total on request', async () => {
    const made: string[] = [];
    const id = await databaseOf(
      sizes.map((size) => ({ 'Deal size': size ?? null })),
      made,
    );
    const whole = { databaseId: id, limit: 100 };
    for (const input of [
      { sort: { column: 'Deal size' } },
      { sort: { column: 'Deal size', direction: 'desc' } },
      { filter: { 'Deal size': { gte: 2 } } },
      { filter: { 'Deal size': { ne: 2 } }, sort: { column: 'Deal size' } },
    ]) {
      const all = await must('list_records', { ...whole, ...input, includeTotal: true });
      assert.equal(all.total, all.data.length);
      assert.deepEqual(
        await pages({ databaseId: id, ...input }),
        all.data.map((record: { id: string }) => record.id),
        JSON.stringify(input),
      );
    }
  });

  it('stay in place while records come and go', async () => {
    const made: string[] = [];
    const id = await databaseOf(
      sizes.map((size) => ({ 'Deal size': size ?? null })),
      made,
    );
    const seen = await pages({ databaseId: id, sort: { column: 'Deal size' } }, () =>
      must('create_record', { databaseId: id, values: { 'Deal size': 0 } }),
    );
    assert.deepEqual([...seen].sort(), made.sort());
    const left = await pages({ databaseId: id, filter: { 'Deal size': 0 } }, async () => {
      const { data } = await must('list_records', { databaseId: id, filter: { 'Deal size': 0 }, limit: 1 });
      await must('delete_record', { databaseId: id, id: data[0].id });
    });
    assert.equal(new Set(left).size, left.length);
  });

  it('take cursors of the same filter and order alone', async () => {
    const page = await must('list_records', { databaseId, sort: { column: 'Name' }, limit: 1 });
    for (const other of [{}, { sort: { column: 'Won' } }, { sort: { column: 'Name' }, filter: {} }]) {
      assert.equal((await refused({ ...other, cursor: page.nextCursor })).issues?.[0]?.path, 'cursor');
    }
    const text = 'é\u0001"'.repeat(3000);
    const id = await databaseOf([{ Name: text }, { Name: text }, { Name: `${text}x` }]);
    assert.equal((await pages({ databaseId: id, sort: { column: 'Name' } })).length, 3);
  });

  it('are narrowed to what a key may read, and reveal nothing of columns that it may not', async () => {
    const key = principalOf({ type: 'api-key', id: 'key_a', grants: [`record:read:${ids[1]}`] });
    const list = (input: object) => must('list_records', { databaseId, ...input, includeTotal: true }, key);
    assert.deepEqual((await list({ sort: { column: 'Name' } })).data.length, 1);
    assert.equal((await list({ filter: { Won: { ne: null } } })).total, 1);
    const other = await databaseOf([{ Name: 'x' }]);
    assert.deepEqual(await list({ databaseId: other, filter: { Unknown: 1 } }), {
      data: [],
      nextCursor: null,
      total: 0,
    });
  });
});

describe('a look through many records', () => {
  it('lets other calls in between, ends a page early and refuses to sort or count more than it may look at', async () => {
    const { id } = await must('create_database', { name: 'Many', columns });
    // One of so long a text counts as many.
    const [count, Name] = FULL ? [MOST_RECORDS + 1, ''] : [11, 'long '.repeat(1_000_000)];
    for (let made = 0; made < count; made += 20_000) {
      await opened.store.transaction(async (tx) => {
        for (let n = made; n < Math.min(count, made + 20_000); n += 1)
          await tx.databaseRecords.insert({ databaseId: id, values: { Name } });
      });
    }
    const input = { databaseId: id, filter: { Name: { contains: 'short' } } };
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    });
    const page = await must('list_records', input);
    clearInterval(timer);
    assert.ok(turns > 0, 'other work had its turn');
    assert.deepEqual(page.data, []);
    const rest = await must('list_records', { ...input, cursor: page.nextCursor });
    assert.deepEqual(rest, { data: [], nextCursor: null });
    for (const more of [{ includeTotal: true }, { sort: { column: 'Won' } }]) {
      assert.equal(await opened.codeOf(admin, 'list_records', { ...input, ...more }), 'invalid_input');
    }
  });
});
