import type { Callers } from '../../../resources/audit-entry.ts';
import type { Tally, TallyKey, TallyQuery } from '../../port.ts';
import { allOf, isStorable, Values } from '../records/filters.ts';
import type { Session } from '../session.ts';

/** The columns that the index of calls holds beside the time. */
export const COLUMNS: Readonly<Record<TallyKey, string>> = {
  tool: 'tool',
  agent: 'agent_id',
  'api-key': 'api_key_id',
  capsule: 'capsule_id',
  app: 'app_id',
  session: 'session_user_id',
  flow: 'flow_id',
};

type TallyRow = Readonly<Record<TallyKey, string | null>> & {
  readonly span: number;
  readonly calls: number;
  readonly failed: number;
  readonly durations: string;
};

/** Adds up calls in the database, by an index that has all it takes. */
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
