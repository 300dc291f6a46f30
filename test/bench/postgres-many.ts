import { AuditPartitions } from '../../store/postgres/audit/partitions.ts';
import { Database } from '../../store/postgres/database.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { startBenchPostgres } from './analytics-postgres.ts';
import { callerOn, timed } from './timing.ts';

/**
 * Lists, reads, searches and counts of threads and messages in PostgreSQL, at 1,000 threads of 10,000 messages and at 1,000,000 of 10,000,000,
 * which takes 14 GB of disk and 20 minutes to fill (BENCH_MESSAGES names other numbers), and usage of a tenth as many calls (BENCH_ENTRIES). Processor time, with that of PostgreSQL, says
 * what a busy machine cannot. Run with `npx tsx test/bench/postgres-many.ts`.
 */
const SIZES = (process.env.BENCH_MESSAGES ?? '10000,10000000').split(',').map(Number);
const TIMES = 5;
const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-06-10T12:00:00Z');

/** So many texts are different. More would only take longer to fill. */
const TEXTS = 100_000;
/** The word of this place among the 20,000, in letters alone. */
const wordAt = (place: string) => `'w' || translate(md5((${place})::int::text), '0123456789', 'ghijklmnop')`;

/** Threads of ten messages each, over 400 days. Words come as in a language: the first of 20,000 in every second message, the last hardly ever. */
const FILL = `
set work_mem = '256MB'; set maintenance_work_mem = '1GB'; set max_parallel_maintenance_workers = 2;
create or replace function pg_temp.at(part float8) returns text language sql as $$
  select to_char(timestamp '2026-06-10 12:00:00' - interval '400 days' * (1 - part), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;
insert into threads (id, created_at, record, words, words_length)
select id, at, ('{"id":"' || id || '","title":"Thread ' || n || '","status":"' || case when n % 10 = 0 then 'archived' else 'active' end
  || '","source":"' || (array['api', 'chat', 'mcp'])[1 + n % 3] || '","visibility":"workspace","messageCount":10,"lastMessageAt":"' || at
  || '","entries":[],"accessKeys":["admin","workspace"],"createdBy":"usr_00000000000000000000000001","createdAt":"' || at
  || '","updatedAt":"' || at || '","revision":1}')::json, to_tsvector('simple', 'thread ' || n), 6
from (select n, 'thr_' || lpad(n::text, 26, '0') as id, pg_temp.at(n::float8 / {threads}) as at from generate_series(1, {threads}) as n) as made;
insert into thread_sources (id, created_at, record)
select 'src_' || lpad(n::text, 26, '0'), pg_temp.at(0),
  ('{"id":"src_' || lpad(n::text, 26, '0') || '","source":"' || (array['api', 'chat', 'mcp'])[n] || '","createdAt":"' || pg_temp.at(0) || '"}')::json
from generate_series(1, 3) as n;
create temporary table texts as
  select n, content, to_tsvector('simple', content) as words from (
    select n, ${[6, 6, 4, 4, 3, 2, 1, 1].map((power) => wordAt(`random() ^ ${power} * 19999`)).join(` || ' ' || `)} as content
    from generate_series(0, least({messages}, ${TEXTS} - 1)) as n
  ) as made;
analyze texts;
insert into messages (id, created_at, record, words, words_length)
select id, at, ('{"id":"' || id || '","threadId":"thr_' || lpad((1 + (n - 1) / 10)::text, 26, '0') || '","role":"'
  || (array['user', 'assistant'])[1 + n % 2] || '","content":"' || content || '","createdAt":"' || at || '"}')::json, words, 8
from (
  select numbers.n, 'msg_' || lpad(numbers.n::text, 26, '0') as id, pg_temp.at(numbers.n::float8 / {messages}) as at, content, words
  from generate_series(1, {messages}) as numbers (n) join texts on texts.n = numbers.n % ${TEXTS}
) as made;
drop table texts`;

/** Calls of 40 tools by 50 callers over 40 days. No figures of them are kept yet. */
const FILL_CALLS = `insert into audit_entries (at, id, principal_id, tool, outcome, door, request_id, record_ids, entry)
select at, 'aud_' || lpad(n::text, 26, '0'), who, tool, outcome, 'mcp', 'req_' || n, '{}',
  json_build_object('id', 'aud_' || lpad(n::text, 26, '0'), 'at', at, 'requestId', 'req_' || n, 'door', 'mcp',
    'principal', json_build_object('type', 'api-key', 'id', who, 'name', who), 'tool', tool, 'arguments', json_build_object('q', md5(n::text)),
    'outcome', outcome, 'durationMs', round(exp(random() * 8)::numeric, 3))
from (
  select n, to_char(timestamp '2026-06-10 12:00:00' - interval '40 days' * (1 - n::float8 / {calls}), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at,
    'key_' || lpad((n % 50)::text, 26, '0') as who, 'tool_' || n / 7 % 40 as tool, case when n % 17 = 0 then 'failed' else 'ok' end as outcome
  from generate_series(1, {calls}) as n
) as made`;

const server = await startBenchPostgres();

async function fill(messages: number) {
  const database = new Database({ url: server.url, poolSize: 1 });
  const words = await database.patiently(async (session) => {
    const indexed = await session.query<{ name: string; made: string }>({
      text: `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as made from pg_index
        where indrelid in ('threads'::regclass, 'messages'::regclass) and not indisunique`,
    });
    await session.query({
      text: 'truncate threads, messages, thread_sources, threads_counts_access_keys_status_source, messages_counts_quarter',
    });
    for (const { name } of indexed) await session.query({ text: `drop index ${name}` });
    await session.query({ text: 'select setseed(0.5)' });
    const filling = FILL.replaceAll('{threads}', String(messages / 10)).replaceAll('{messages}', String(messages));
    for (const text of filling.split(';\n').flatMap((part) => part.trim() || [])) await session.query({ text });
    for (const { made } of indexed) await session.query({ text: made });
    const days = Array.from({ length: 41 }, (_, day) => new Date(NOW - day * DAY_MS).toISOString());
    await new AuditPartitions(database).ensure(days, new Date(NOW));
    await session.query({ text: 'truncate audit_entries' });
    const calls = Number(process.env.BENCH_ENTRIES ?? messages / 10);
    await session.query({ text: FILL_CALLS.replaceAll('{calls}', String(calls)) });
    await session.query({ text: 'vacuum analyze' });
    const [words] = await session.query<{ common: string; rare: string }>({
      text: `select ${wordAt('0')} as common, ${wordAt('19000')} as rare`,
    });
    return words ?? { common: '', rare: '' };
  });
  await database.close();
  return words;
}

async function measure(messages: number) {
  const store = await server.open();
  await prepareSettings(store);
  const { common, rare } = await fill(messages);
  const ask = callerOn(store, () => new Date(NOW));
  const thread = `thr_${String(messages / 20).padStart(26, '0')}`;
  const questions: readonly (readonly [string, string, object])[] = [
    ['list', 'list_threads', {}],
    ['list archived', 'list_threads', { status: 'archived' }],
    ['get', 'get_thread', { id: thread }],
    ['messages of a thread', 'list_messages', { id: thread }],
    ['search a rare word', 'search', { q: rare, types: ['message'] }],
    ['search a common word', 'search', { q: common, types: ['message'] }],
    ['search both', 'search', { q: `${common} ${rare}`, types: ['message'] }],
    ['search a title', 'search', { q: 'Thread 500', types: ['thread'] }],
    ['search all kinds', 'search', { q: rare }],
    ['stats', 'get_thread_stats', {}],
    ['usage', 'get_usage', { by: 'tool', from: new Date(NOW - 40 * DAY_MS).toISOString() }],
    [
      'usage by the hour',
      'get_usage',
      { by: 'tool', interval: 'hour', from: new Date(NOW - 40 * DAY_MS).toISOString() },
    ],
  ];
  const found = new Map<string, { ms: number; cpuMs: number }>();
  for (const [what, tool, input] of questions) {
    const each: { ms: number; cpuMs: number }[] = [];
    for (let time = 0; time < TIMES; time += 1) each.push(await timed(() => ask(tool, input), server.processorMs));
    const middle = each.sort((a, b) => a.ms - b.ms)[TIMES >> 1];
    if (middle) found.set(what, middle);
    console.log(`${messages} messages, ${what}: ${found.get(what)?.ms.toFixed(1)} ms`);
  }
  await store.close();
  return found;
}

const all: Awaited<ReturnType<typeof measure>>[] = [];
for (const size of SIZES) all.push(await measure(size));
const names = [...(all[0]?.keys() ?? [])];
console.table(
  Object.fromEntries(
    names.map((what) => [
      what,
      Object.fromEntries(
        all.flatMap((found, at) => [
          [`${SIZES[at]}: ms`, Number(found.get(what)?.ms.toFixed(1))],
          [`${SIZES[at]}: of processors`, Math.round(found.get(what)?.cpuMs ?? 0)],
        ]),
      ),
    ]),
  ),
);
await server.stop();
