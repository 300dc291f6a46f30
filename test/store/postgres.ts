import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { NamedQuery, Parameter, RowSnapshot } from '../../store/rows-port.ts';
import { derivedTables } from '../../store/sql/derived-tables.ts';
import { createTable, exchangeRates, rawTables } from '../../store/sql/raw-tables.ts';
import { analyticsTools } from '../../tools/analytics/tools.ts';
import { catalog } from '../../tools/catalog.ts';
import { createRegistry } from '../../tools/registry/registry.ts';
import { events, FUNNEL, NOW, subscriptions, users, visits, websites } from '../bench/analytics-rows.ts';
import { openTestRegistry, principalOf, testFacts } from '../support/registry.ts';
import { askable } from '../tools/analytics/worlds.ts';

/**
 * Runs the SQL of all metrics on PostgreSQL 15 too: derived tables and the answer of every query must equal those of the engine that is built
 * in. Needs the programs of PostgreSQL; makes a cluster of its own in the temporary folder. Run with `npx tsx test/store/postgres.ts`.
 */
const SIZE = 3000;
const PROGRAMS = ['/usr/lib/postgresql/15/bin', '/usr/local/pgsql/bin', '/usr/local/bin', '/usr/bin'].find((folder) =>
  existsSync(join(folder, 'initdb')),
);
assert.ok(PROGRAMS, 'There are no programs of PostgreSQL 15; install the package postgresql-15.');

interface Asked {
  readonly query: NamedQuery;
  readonly parameters: readonly Parameter[];
  readonly rows: readonly Cells[];
}
type Cells = Readonly<Record<string, string | number | boolean | null>>;

/** Programs of PostgreSQL do not run as root. */
function run(program: string, args: readonly string[], input = ''): string {
  const command = [join(PROGRAMS ?? '', program), ...args]
    .map((part) => `'${part.replaceAll("'", "'\\''")}'`)
    .join(' ');
  const asRoot = process.getuid?.() === 0;
  const [shell, ...options] = asRoot ? ['su', '-s', '/bin/sh', 'nobody', '-c', command] : ['sh', '-c', command];
  return execFileSync(shell ?? '', options, {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

async function openCluster() {
  const folder = await mkdtemp(join(tmpdir(), 'agent-admin-postgres-'));
  await chmod(folder, 0o777);
  const data = join(folder, 'data');
  run('initdb', ['-D', data, '-E', 'UTF8', '--locale=C', '-A', 'trust', '-U', 'test']);
  const settings = `-k ${folder} -c listen_addresses='' -c fsync=off -c jit=off`;
  run('pg_ctl', ['-D', data, '-o', settings, '-l', join(folder, 'log'), '-w', 'start']);
  const psql = [
    '-h',
    folder,
    '-U',
    'test',
    '-d',
    'postgres',
    '-q',
    '--csv',
    '-v',
    'ON_ERROR_STOP=1',
    '-P',
    `null=${NULL}`,
  ];
  return {
    /** The rows of the last statement, as texts. */
    ask: (sql: string): string[][] => parse(run('psql', psql, sql), { from_line: 2, relax_column_count: true }),
    async close() {
      run('pg_ctl', ['-D', data, '-m', 'immediate', 'stop']);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const NULL = '(null)';

function literal(value: Parameter): string {
  if (typeof value !== 'string') return String(value);
  const escaped = value
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "''")
    .replaceAll('\x1f', '\\x1f')
    .replaceAll('\x1e', '\\x1e');
  return `E'${escaped}'`;
}

/** Rows as lines that can be compared, in any order. */
function lines(rows: readonly (readonly unknown[])[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

/** What psql shows, in the types that the other engine gave. */
function typed(texts: readonly string[], like: Cells | undefined): unknown[] {
  return Object.values(like ?? {}).map((value, at) => {
    const text = texts[at] ?? '';
    if (text === NULL) return null;
    if (typeof value === 'boolean' || text === 't' || text === 'f') return text === 't';
    return Number.isNaN(Number(text)) || typeof value === 'string' ? text : rounded(Number(text));
  });
}

/** As far as both engines agree whatever the order in which they add up. */
const rounded = (value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(12)) : value);

function assertSame(what: string, own: readonly Cells[], theirs: readonly string[][]): void {
  const names = Object.keys(own[0] ?? {});
  const like = Object.fromEntries(names.map((name) => [name, own.find((row) => row[name] !== null)?.[name] ?? null]));
  const expected = lines(own.map((row) => Object.values(row).map(rounded)));
  assert.deepEqual(lines(theirs.map((row) => typed(row, like))), expected, what);
}

const under = await openTestRegistry(() => new Date(NOW));
const { rows: tables } = under.store;
const asked: Asked[] = [];
/** Answers the query by the snapshot or the store, and notes it. */
const noting =
  ({ query }: RowSnapshot): RowSnapshot['query'] =>
  async <Row>(text: NamedQuery, parameters: readonly Parameter[] = []) => {
    const rows = await query<Row>(text, parameters);
    asked.push({ query: text, parameters, rows: rows as unknown as Cells[] }); // rows of a query hold plain values
    return rows;
  };
const noted = {
  read: ((work, options) =>
    tables.read((snapshot) => work({ query: noting(snapshot) }), options)) satisfies typeof tables.read,
  query: noting({ query: (text, parameters) => tables.query(text, parameters) }),
};
const rows = new Proxy(tables, { get: (target, name) => Reflect.get(noted, name) ?? bound(target, name) });
function bound(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name, target);
  return typeof member === 'function' ? member.bind(target) : member;
}

const server = testFacts(under.store, { now: () => new Date(NOW), catalog, rows });
const registry = createRegistry({ store: under.store, server, onFailure: (cause) => console.error(cause) });
const principal = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
async function call(tool: string, input: object): Promise<void> {
  const answer = await registry.call({ principal, tool, input, door: 'mcp', requestId: 'test' });
  assert.ok(answer.ok, JSON.stringify(answer));
}

await call('update_settings', {
  currency: 'EUR',
  exchangeRates: [{ month: '2026-01', currency: 'USD', rate: 0.83 }],
  analytics: { features: { export: ['export'], sites: FUNNEL.slice(1, 3) }, funnel: FUNNEL, activityEvents: 'all' },
});
const imported = {
  users: users(300),
  subscriptions: subscriptions(300),
  websites: websites(100),
  events: events(SIZE, 300),
  visits: visits(SIZE, 300),
};
for (const [type, generated] of Object.entries(imported)) {
  const all = [...generated];
  for (let from = 0; from < all.length; from += 1000) {
    const part = all.slice(from, from + 1000);
    const inDollars = (row: object, at: number) =>
      'currency' in row && at % 5 === 0 ? { ...row, currency: 'USD' } : row;
    await call('import_records', { type, records: part.map(inDollars) });
  }
}
for (const { name } of analyticsTools) {
  for (const [interval, timezone] of [
    ['day', 'America/St_Johns'],
    ['month', 'UTC'],
  ]) {
    const input = { from: '2026-01-01', to: '2026-06-20', interval, timezone, compare: 'previous' };
    await call(name, askable(name, input));
  }
}
for (const tool of ['get_user', 'get_user_billing', 'get_user_timeline', 'list_user_websites'])
  await call(tool, { userId: 'u1' });
for (const input of [{}, { search: 'U1', includeTotal: true, limit: 5 }, { status: 'PRO', includeDeleted: true }])
  await call('list_users', input);

const cluster = await openCluster();
try {
  /** Hashes have more digits than numbers can hold. */
  const selectAll = async (table: string) => {
    const sql = `select column_name as name from information_schema.columns where table_name = $1 order by ordinal_position`;
    const columns = await tables.query<{ name: string }>({ name: 'columns', sql }, [table]);
    const shown = columns.map(({ name }) =>
      /^(visitor|person)$/.test(name) ? `cast(${name} as text) as ${name}` : `"${name}"`,
    );
    return `select ${shown.join(', ')} from ${table}`;
  };
  const all = async (name: string) => tables.query<Cells>({ name, sql: await selectAll(name) });
  for (const [name, columns] of Object.entries({ ...rawTables, exchange_rates: exchangeRates })) {
    const values = (await all(name)).map((row) => `(${Object.values(row).map(literal).join(', ')})`);
    cluster.ask(
      `${createTable(name, columns)};${values.length > 0 ? `insert into ${name} values ${values.join(', ')};` : ''}`,
    );
  }
  for (const { name, ddl, rebuild } of derivedTables) {
    const statements = rebuild.map((sql) => sql.replaceAll('{slices}', '1').replaceAll('{slice}', '0'));
    cluster.ask([...ddl, ...statements].map((sql) => `${sql};`).join('\n'));
    assertSame(name, await all(name), cluster.ask(`${await selectAll(name)};`));
    console.log(`${name}: equal, ${(await all(name)).length} rows`);
  }
  const names = new Map<string, number>();
  for (const { query, parameters, rows: own } of asked) {
    const given = parameters.length > 0 ? `(${parameters.map(literal).join(', ')})` : '';
    assertSame(query.name, own, cluster.ask(`prepare q as ${query.sql}; execute q${given};`));
    names.set(query.name, (names.get(query.name) ?? 0) + 1);
  }
  for (const [name, count] of names) console.log(`${name}: equal, ${count} times`);
} finally {
  await cluster.close();
  await under.close();
}
