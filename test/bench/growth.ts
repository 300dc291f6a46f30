import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { newId } from '../../store/ids.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { Database } from '../../store/postgres/database.ts';
import { accessKeysWith } from '../../tools/core/access/visibility.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { auditRecord, memoryRecord, threadRecord } from '../store/records.ts';
import { startBenchPostgres } from './analytics-postgres.ts';
import { writeBlock } from './figures.ts';
import { callerOn, quantile, timed } from './timing.ts';

/**
 * What a call costs in stores of a thousand to a million memories, with a tenth as many threads of ten messages, and ten times as many audit
 * entries. Processor time, with that of PostgreSQL. On PostgreSQL, auto_explain names each statement over 50 ms. Run with
 * `npx tsx test/bench/growth.ts embedded` or `postgres`; `BENCH_SIZES` names other sizes, `--readme` writes the table and the chart into
 * the README of the tests.
 */
const kind = process.argv[2] === 'postgres' ? 'postgres' : 'embedded';
const SIZES = (process.env.BENCH_SIZES ?? '1000,100000,1000000').split(',').map(Number);
const TIMES = 7;
const BATCH = 1000;
const SLOW_MS = 50;
const FIRST = Date.UTC(2026, 0, 1);
const SPAN_MS = 300 * 86_400_000;
const TOOLS = Array.from({ length: 40 }, (_, n) => `tool_${n}`);

/** Words as in a language: a few are in many texts, most in few. */
function wordsOf(n: number): string {
  const word = (power: number) => `w${Math.floor(((n * 2_654_435_761 * power) % 2 ** 32) / 2 ** (32 ** (1 / power)))}`;
  return [`common${n % 3}`, `topic${n % 1009}`, `case${n}`, word(1), word(2)].join(' ');
}

async function fill(store: Store, from: number, to: number): Promise<void> {
  const accessKeys = await accessKeysWith(store, {});
  const at = (n: number, size: number) => new Date(FIRST + Math.floor((n / size) * SPAN_MS)).toISOString();
  for (let first = from; first < to; first += BATCH) {
    await store.transaction(async (tx) => {
      const memories = Array.from({ length: BATCH }, (_, index) => {
        const n = first + index;
        return memoryRecord(`Fact ${n}: ${wordsOf(n)}.`, { accessKeys, kind: n % 10 ? 'fact' : 'preference' });
      });
      await tx.memories.insertAll(memories);
      const titles = Array.from({ length: BATCH / 10 }, (_, index) => `Thread ${first / 10 + index}`);
      const threads = await tx.threads.insertAll(
        titles.map((title) => threadRecord(title, { accessKeys, messageCount: 10 })),
      );
      await tx.messages.insertAll(
        threads.flatMap(({ id }, place) =>
          Array.from({ length: 10 }, (_, n) => ({
            threadId: id,
            role: n % 2 ? ('assistant' as const) : ('user' as const),
            content: wordsOf(first + place * 10 + n),
          })),
        ),
      );
    });
    for (let n = first * 10; n < (first + BATCH) * 10; n += 1) {
      const principal = { type: 'api-key', id: `key_${n % 50}`, name: `Key ${n % 50}` } as const;
      const tool = TOOLS[(n >> 3) % TOOLS.length] ?? '';
      store.audit.append(auditRecord({ id: newId('aud'), at: at(n, to * 10), principal, tool, requestId: `req_${n}` }));
    }
    await store.audit.flush();
  }
}

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
}

async function costs(store: Store, processorMs: () => number): Promise<Map<string, Cost>> {
  const begun = Date.now();
  const ask = callerOn(store, () => new Date(FIRST + SPAN_MS + Date.now() - begun));
  const memory = (await store.memories.find({ limit: 1 })).records[0]?.id ?? '';
  let made = 0;
  const next = () => {
    made += 1;
    return made;
  };
  const questions: Record<string, readonly [tool: string, input: () => object]> = {
    get: ['get_memory', () => ({ id: memory })],
    list: ['list_memories', () => ({ limit: 50 })],
    create: ['create_memory', () => ({ content: `New fact ${next()}`, kind: 'fact', scope: 'workspace' })],
    update: ['update_memory', () => ({ id: memory, content: `Changed ${next()}` })],
    'search, rare word': ['search', () => ({ q: 'case500', types: ['memory'] })],
    'search, word of a third': ['search', () => ({ q: 'common1', types: ['memory'] })],
    'search, all kinds': ['search', () => ({ q: 'topic7 case7' })],
    'thread stats': ['get_thread_stats', () => ({})],
    'audit, newest': ['list_audit_entries', () => ({ limit: 50 })],
    'audit, of a key': ['list_audit_entries', () => ({ limit: 50, principal: 'key_7', tool: 'tool_3' })],
  };
  const found = new Map<string, Cost>();
  for (const [name, [tool, input]] of Object.entries(questions)) {
    const each: Cost[] = [];
    for (let time = 0; time < TIMES; time += 1) each.push(await timed(() => ask(tool, input()), processorMs));
    found.set(name, { ms: quantile(each.map(({ ms }) => ms)), cpuMs: quantile(each.map(({ cpuMs }) => cpuMs)) });
  }
  return found;
}

interface Measured {
  readonly size: number;
  readonly found: ReadonlyMap<string, Cost>;
  readonly openMs: number;
  readonly rssMb: number;
}

async function measured(open: () => Promise<Store>, processorMs: () => number, settle = async () => {}) {
  const all: Measured[] = [];
  for (const [place, size] of SIZES.entries()) {
    let store = await open();
    await prepareSettings(store);
    const { ms: fillMs } = await timed(() => fill(store, SIZES[place - 1] ?? 0, size));
    await store.close();
    await settle();
    const opened = await timed(open);
    store = opened.result;
    await store.search('memories', { text: 'common1', limit: 1 }); // waits until all words are indexed
    const found = await costs(store, processorMs);
    const rssMb = process.memoryUsage().rss / 2 ** 20;
    console.log(
      `${size}: filled in ${Math.round(fillMs)} ms, open in ${Math.round(opened.ms)} ms, ${Math.round(rssMb)} MB`,
    );
    console.table(Object.fromEntries(found));
    all.push({ size, found, openMs: opened.ms, rssMb });
    await store.close();
  }
  return all;
}

async function onPostgres(): Promise<Measured[]> {
  const server = await startBenchPostgres();
  const run = async (...texts: string[]) => {
    const database = new Database({ url: server.url, poolSize: 1 });
    const rows = await database.patiently(async (session) => {
      let last: readonly Record<string, string>[] = [];
      for (const text of texts) last = await session.query<Record<string, string>>({ text });
      return last;
    });
    await database.close();
    return rows;
  };
  try {
    await run(
      `load 'auto_explain'`,
      `alter system set session_preload_libraries = 'auto_explain'`,
      `alter system set auto_explain.log_min_duration = ${SLOW_MS}`,
      'select pg_reload_conf()',
    );
    const all = await measured(server.open, server.processorMs, server.settle);
    const [folder] = await run(`select current_setting('data_directory') as path`);
    const log = await readFile(join(dirname(folder?.path ?? ''), 'log'), 'utf8');
    const slow = [...log.matchAll(/duration: ([\d.]+) ms {2}plan:\n\s*Query Text: (.{0,160})/g)];
    console.log(`${slow.length} statements over ${SLOW_MS} ms:`);
    for (const [, ms, text] of slow.sort((a, b) => Number(b[1]) - Number(a[1])).slice(0, 40)) console.log(ms, text);
    return all;
  } finally {
    await server.stop();
  }
}

async function embedded(): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-admin-growth-'));
  try {
    return await measured(
      () => openLowdbStore({ folder }),
      () => 0,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const all = kind === 'postgres' ? await onPostgres() : await embedded();
const shown = (value = 0) => (value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US'));
const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
const names = [...(all[0]?.found.keys() ?? [])];
const sizes = all.map(({ size }) => size.toLocaleString('en-US'));
const rows = names.map((name) => line([name, ...all.map(({ found }) => shown(found.get(name)?.cpuMs))]));
if (kind === 'embedded') {
  rows.push(line(['opening, ms', ...all.map(({ openMs }) => shown(openMs))]));
  rows.push(line(['memory, MB', ...all.map(({ rssMb }) => shown(rssMb))]));
}
const table = [line([`${kind}: ms of processor time`, ...sizes]), line(['---', ...sizes.map(() => '---')]), ...rows];
const CHARTED = ['list', 'create', 'search, rare word', 'audit, of a key'];
const chart = [
  '```mermaid',
  'xychart-beta',
  `  title "${kind}: ms of processor time by memories (lines: ${CHARTED.join('; ')})"`,
  `  x-axis [${sizes.map((size) => `"${size}"`).join(', ')}]`,
  ...CHARTED.map((name) => `  line [${all.map(({ found }) => (found.get(name)?.cpuMs ?? 0).toFixed(2)).join(', ')}]`),
  '```',
];
console.log(table.join('\n'));
if (process.argv.includes('--readme')) writeBlock(`growth ${kind}`, [...table, '', ...chart].join('\n'));
process.exit(0);
