import { type AuditEntry, CALLER_TYPES, callersOf, recordsOf } from '../../../resources/audit-entry.ts';
import type { AuditFilter, AuditQuery, Page } from '../../port.ts';
import { deepFreeze } from '../../row.ts';
import { allOf, isStorable, Values } from '../records/filters.ts';
import type { Session } from '../session.ts';
import { COLUMNS } from './tally.ts';

/** What PostgreSQL cannot look into: NUL, and half a character. In JSON, after an even number of backslashes. */
const UNSTORABLE = /\\\\|\\u0000|\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g;

const CALLERS = CALLER_TYPES.map((type) => COLUMNS[type]);

const INSERT = `
insert into audit_entries
  (at, id, principal_id, tool, outcome, door, request_id, session_id, duration_ms, ${CALLERS.join(', ')}, record_ids, entry)
select given.at, given.id, principal_id, tool, outcome, door, request_id, session_id, duration_ms, ${CALLERS.join(', ')}, record_ids,
  case when exists (select 1 from erased_records e where e.id = any (record_ids) and e.id <> all ($1::text[]))
    then agent_admin_without_content(entry) else entry end
from (
  select t.*, agent_admin_texts(records) as record_ids
  from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::json[], $11::json[],
      $12::float8[], ${CALLERS.map((_, at) => `$${at + 13}::text[]`).join(', ')})
    as t (at, id, principal_id, tool, outcome, door, request_id, session_id, records, entry, duration_ms, ${CALLERS.join(', ')})
) as given
on conflict do nothing
returning pg_current_xact_id()::text as xid`;

/**
 * Adds the entries, those about erased records without their arguments. An entry that is there already is left out, so the same ones can be
 * given again. `justErased`: records that the transaction of these entries erased itself. Returns the number of the transaction.
 */
export async function insertEntries(
  session: Session,
  entries: readonly AuditEntry[],
  justErased: readonly string[] = [],
): Promise<string | undefined> {
  const given = entries.map(storable);
  const each = (pick: (entry: AuditEntry) => unknown) => given.map(({ entry }) => pick(entry));
  const callers = given.map(({ entry: { principal, onBehalfOf = [] } }) => callersOf([principal, ...onBehalfOf]));
  const values = [
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
  ];
  const [written] = await session.query<{ xid: string }>({ name: 'append audit', text: INSERT, values });
  return written?.xid;
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
