import { callersOf, isIdText, recordsOf } from '../../../resources/audit-entry.ts';
import { parseSeal, type SealedEntry } from '../../audit-proof/seal.ts';
import { problemOf } from '../../audit-proof/verdict.ts';
import type { FoundEntry } from '../../audit-proof/verify.ts';
import { allOf, Values } from '../records/query.ts';
import type { Session } from '../session.ts';

const PAGE = 500;

interface Row extends Readonly<Record<string, unknown>> {
  readonly at: string;
  readonly id: string;
  readonly record_ids: readonly string[];
  readonly entry: SealedEntry;
}

/** The entries of the range, newest first, each compared with the columns by which it is found. */
export async function* sealedEntries(
  session: Session,
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
): AsyncGenerator<FoundEntry> {
  let after: Row | undefined;
  for (;;) {
    const values = new Values();
    const parts: string[] = [];
    if (from !== undefined) parts.push(`at >= ${values.add(from)}`);
    if (to !== undefined) parts.push(`at < ${values.add(to)}`);
    if (after) parts.push(`(at, id) < (${values.add(after.at)}, ${values.add(after.id)})`);
    const text = `select * from audit_entries where ${allOf(parts)} order by at desc, id desc limit ${values.add(PAGE)}`;
    const rows = await session.query<Row>({ text, values: values.all });
    for (const row of rows) yield found(row);
    after = rows.at(-1);
    if (!after || rows.length < PAGE) return;
  }
}

function found(row: Row): FoundEntry {
  const { entry, at, id } = row;
  const { proof } = entry;
  if (entry.at !== at || entry.id !== id) return { problem: problemOf('moved', row), proof };
  try {
    return areColumnsRight(row) ? { entry } : { problem: problemOf('changed', row), proof };
  } catch {
    return { problem: problemOf('changed', row), proof }; // it lacks members
  }
}

function areColumnsRight(row: Row): boolean {
  const { entry } = row;
  const { principal, onBehalfOf = [], sessionId = null } = entry;
  const of = callersOf([principal, ...onBehalfOf]);
  const columns = {
    principal_id: principal.id,
    tool: entry.tool,
    outcome: entry.outcome,
    door: entry.door,
    request_id: entry.requestId,
    session_id: sessionId,
    duration_ms: entry.durationMs,
    agent_id: of.agent,
    api_key_id: of['api-key'],
    capsule_id: of.capsule,
    app_id: of.app,
    session_user_id: of.session,
    flow_id: of.flow,
  };
  if (Object.entries(columns).some(([name, value]) => row[name] !== (value ?? null))) return false;
  // Names of records go with the content, and stay in the column.
  const isWithdrawn = entry.salt === undefined && parseSeal(entry.proof ?? '')?.content !== undefined;
  const shown = (ids: readonly string[]) => (isWithdrawn ? ids.filter(isIdText) : [...ids]).sort().join('\n');
  return shown(row.record_ids) === shown(recordsOf(entry));
}
