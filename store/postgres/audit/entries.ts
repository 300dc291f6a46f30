import { type AuditEntry, CALLER_TYPES, callersOf, recordsOf } from '../../../resources/audit-entry.ts';
import type { AuditFilter, AuditQuery, Page } from '../../port.ts';
import { deepFreeze } from '../../row.ts';
import type { BatchedStatement } from '../batched-writes.ts';
import { allOf, isStorable, Values } from '../records/filters.ts';
import type { Session } from '../session.ts';
import { COLUMNS } from './tally.ts';

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

/** What is written of each entry: those about erased records come without their arguments. */
const WRITTEN = NAMES.replace(
  'record_ids, entry',
  () => `texts, case
    when exists (select 1 from erased_records e where e.id = any (texts) and e.id <> all (just_erased))
    then agent_admin_without_content(entry) else entry end`,
);

/**
 * Adds the entries, those about erased records without their arguments. An entry that is there already is left out, so the same ones can be
 * given again. `justErased`: records that the transaction of these entries erased itself.
 */
export function entriesToAdd(entries: readonly AuditEntry[], justErased: readonly string[] = []): BatchedStatement {
  const given = entries.map(storable);
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

function storable(entry: AuditEntry): { readonly entry: AuditEntry; readonly json: string } {
  const json = JSON.stringify(entry);
  if (!json.includes('\\u')) return { entry, json };
  const clean = json.replaceAll(UNSTORABLE, (found) => (found === '\\\\' ? found : '\\ufffd'));
  return { entry: JSON.parse(clean), json: clean };
}

export async function findEntries(session: Session, query: AuditQuery): Promise<Page<AuditEntry>> {
  const values = new Values();
  const parts = conditions(query, values);
  const { after, limit } = query;
  if (after) parts.push(`(at, id) < (${values.add(after.createdAt)}, ${values.add(after.id)})`);
  const text = `select entry from audit_entries where ${allOf(parts)} order by at desc, id desc limit ${values.add(limit + 1)}`;
  const found = await session.query<{ entry: AuditEntry }>({ text, values: values.all });
  const records = found.slice(0, limit).map(({ entry }) => deepFreeze(entry));
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
  const { withoutTools, recordId, from, to } = filter;
  if (withoutTools) parts.push(`tool <> all (${values.add(withoutTools.filter(isStorable))}::text[])`);
  if (recordId !== undefined) {
    parts.push(isStorable(recordId) ? `record_ids @> array[${values.add(recordId)}::text]` : 'false');
  }
  if (from !== undefined) parts.push(`at >= ${values.add(from)}`);
  if (to !== undefined) parts.push(`at < ${values.add(to)}`);
  return parts;
}
