import { type AuditEntry, CALLER_TYPES, type Callers, callersOf, recordsOf } from '../../../resources/audit-entry.ts';
import { type SealedEntry, withoutSeal } from '../../audit-proof/seal.ts';
import type { AuditFilter, AuditQuery, Page, Tally, TallyKey, TallyQuery } from '../../port.ts';
import { deepFreeze } from '../../row.ts';
import { allOf, isStorable, Values } from '../records/query.ts';
import type { BatchedStatement, Session } from '../session.ts';

const COLUMNS: Readonly<Record<TallyKey, string>> = {
  tool: 'tool',
  agent: 'agent_id',
  'api-key': 'api_key_id',
  capsule: 'capsule_id',
  app: 'app_id',
  session: 'session_user_id',
  flow: 'flow_id',
};

/** What PostgreSQL cannot look into: NUL, and half a character. In JSON, after an even number of backslashes. */
const UNSTORABLE = /\\\\|\\u0000|\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g;

const COLUMNS_OF_ENTRIES = [
  ...['at', 'id', 'principal_id', 'tool', 'outcome', 'door', 'request_id', 'session_id'].map((name) => [name, 'text']),
  ...[
    ['record_ids', 'json'],
    ['entry', 'json'],
    ['duration_ms', 'float8'],
  ],
  ...CALLER_TYPES.map((type) => [COLUMNS[type], 'text']),
] as const;
const NAMES = COLUMNS_OF_ENTRIES.map(([name]) => name).join(', ');

const WRITTEN = NAMES.replace(
  'record_ids, entry',
  () => `texts, case
    when exists (select 1 from erased_records e where e.id = any (texts) and e.id <> all (just_erased))
    then agent_admin_without_content(entry) else entry end`,
);

/** Entries that are there already are left out. `justErased`: records that the transaction of these entries erased itself. */
export function entriesToAdd(entries: readonly SealedEntry[], justErased: readonly string[] = []): BatchedStatement {
  const given = entries.map((entry) => ({ entry, json: JSON.stringify(entry) }));
  const each = (pick: (entry: AuditEntry) => unknown) => given.map(({ entry }) => pick(entry));
  const callers = given.map(({ entry: { principal, onBehalfOf = [] } }) => callersOf([principal, ...onBehalfOf]));
  return {
    name: 'entries',
    text: ([erased, ...lists]) => `insert into audit_entries (${NAMES}) select ${WRITTEN} from (
        select t.*, agent_admin_texts(record_ids) as texts, ${erased}::text[] as just_erased
        from unnest(${lists.map((list, at) => `${list}::${COLUMNS_OF_ENTRIES[at]?.[1]}[]`).join(', ')}) as t (${NAMES})
      ) as given on conflict do nothing`,
    values: [
      [...justErased],
      each(({ at }) => at),
      each(({ id }) => id),
      each(({ principal }) => principal.id),
      each(({ tool }) => tool),
      each(({ outcome }) => outcome),
      each(({ door }) => door),
      each(({ requestId }) => requestId),
      each(({ sessionId }) => sessionId ?? null),
      each((entry) => JSON.stringify(recordsOf(entry))),
      given.map(({ json }) => json),
      each(({ durationMs }) => durationMs),
      ...CALLER_TYPES.map((type) => callers.map((of) => of[type] ?? null)),
    ],
  };
}

/** The entry as PostgreSQL can store it. */
export function storable(entry: AuditEntry): AuditEntry {
  const json = JSON.stringify(entry);
  if (!json.includes('\\u')) return entry;
  return JSON.parse(json.replaceAll(UNSTORABLE, (found) => (found === '\\\\' ? found : '\\ufffd')));
}

export async function findEntries(session: Session, query: AuditQuery): Promise<Page<AuditEntry>> {
  const values = new Values();
  const parts = conditions(query, values);
  const { after, limit } = query;
  if (after) parts.push(`(at, id) < (${values.add(after.createdAt)}, ${values.add(after.id)})`);
  const text = `select entry from audit_entries where ${allOf(parts)} order by at desc, id desc limit ${values.add(limit + 1)}`;
  const found = await session.query<{ entry: SealedEntry }>({ text, values: values.all });
  const records = found.slice(0, limit).map(({ entry }) => deepFreeze(query.sealed ? entry : withoutSeal(entry)));
  const last = records.at(-1);
  return { records, next: found.length > limit && last ? { createdAt: last.at, id: last.id } : null };
}

export async function countEntries(session: Session, filter: AuditFilter, upTo?: number): Promise<number> {
  const values = new Values();
  const found = `from audit_entries where ${allOf(conditions(filter, values))}`;
  const some = upTo === undefined ? found : `from (select 1 ${found} limit ${values.add(upTo)}) as entries`;
  const text = `select count(*)::integer as count ${some}`;
  const [counted] = await session.query<{ count: number }>({ text, values: values.all });
  return counted?.count ?? 0;
}

function conditions(filter: AuditFilter, values: Values): string[] {
  const equal = { id: filter.id, principal_id: filter.principal, tool: filter.tool };
  const { outcome, door, requestId: request_id, sessionId: session_id } = filter;
  const parts = Object.entries({ ...equal, outcome, door, request_id, session_id }).flatMap(([column, wanted]) => {
    if (wanted === undefined) return [];
    return isStorable(wanted) ? [`${column} = ${values.add(wanted)}`] : ['false'];
  });
  const { withoutTools, without, recordId, from, to } = filter;
  if (withoutTools) parts.push(`tool <> all (${values.add(withoutTools.filter(isStorable))}::text[])`);
  if (without) {
    const tools = values.add(without.tools.filter(isStorable));
    parts.push(`not (door = ${values.add(without.door)} and tool = any (${tools}::text[]))`);
  }
  if (recordId !== undefined) {
    parts.push(isStorable(recordId) ? `record_ids @> array[${values.add(recordId)}::text]` : 'false');
  }
  if (from !== undefined) parts.push(`at >= ${values.add(from)}`);
  if (to !== undefined) parts.push(`at < ${values.add(to)}`);
  return parts;
}

type TallyRow = Readonly<Record<TallyKey, string | null>> & {
  readonly span: number;
  readonly calls: number;
  readonly failed: number;
  readonly durations: string;
};

export async function tallyCalls(session: Session, query: TallyQuery): Promise<Tally[]> {
  const values = new Values();
  if (query.spans.length === 0 || !Object.values(query.where ?? {}).every(isStorable)) return [];
  const found = await session.query<TallyRow>({ text: statement(query, values), values: values.all });
  return found.map((row) => ({
    callers: callersIn(row, query.by),
    ...(row.tool && { tool: row.tool }),
    ...{
      span: row.span,
      calls: row.calls,
      failed: row.failed,
      durations: JSON.parse(`[${row.durations}]`) as number[],
    },
  }));
}

function statement({ spans, by, where = {}, buckets }: TallyQuery, values: Values): string {
  const begins = values.add(spans.map(({ from }) => from));
  const ends = values.add(spans.map(({ to }) => to));
  const names = by.map((key) => `"${key}"`);
  const listed = names.map((name) => `${name}, `).join('');
  const wanted = Object.entries(where).map(([key, value]) => [key as TallyKey, values.add(value)] as const); // keys of the query's type
  const columns = by.map((key, at) => `${COLUMNS[key]} as ${names[at]}`);
  const like = wanted.map(([key, value]) => `${COLUMNS[key]} = ${value}`);
  // One span after the other, so that what is added up at a time fits into memory.
  return `select span.place::integer - 1 as span, alike.* from unnest(${begins}::text[], ${ends}::text[])
      with ordinality as span (begins, ends, place) cross join lateral (
    select ${listed}sum(calls)::integer as calls, sum(failed)::integer as failed,
      string_agg(duration || ',' || calls, ',') as durations
    from (
      select ${listed}${durationIn(buckets, values)} as duration, count(*) as calls, count(*) filter (where outcome <> 'ok') as failed from (
        select ${[...columns, 'outcome', 'duration_ms'].join(', ')} from audit_entries
        where ${allOf(['at >= span.begins', 'at < span.ends', ...like])}
      ) as entries group by ${listed}duration
    ) as counted ${names.length > 0 ? `group by ${names.join(', ')}` : 'having count(*) > 0'}
  ) as alike`;
}

/** As tools/usage/histogram.ts counts buckets. */
function durationIn(buckets: TallyQuery['buckets'], values: Values): string {
  if (!buckets) return 'duration_ms';
  const smallest = `${values.add(buckets.smallest)}::float8`;
  const steps = `ln(duration_ms / ${smallest}) / ln(${values.add(buckets.growth)}::float8)`;
  return `case when duration_ms < ${smallest} then 0 else 1 + ceil(${steps} - 1e-9)::integer end`;
}

function callersIn(row: TallyRow, by: readonly TallyKey[]): Callers {
  return Object.fromEntries(by.flatMap((key) => (key === 'tool' || row[key] === null ? [] : [[key, row[key]]])));
}
