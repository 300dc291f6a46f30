import { z } from 'zod';
import { type AuditEntry, recordsOf } from '../../resources/audit-entry.ts';
import { recordId, timestamp } from '../../resources/fields.ts';
import { collections } from '../../store/collections.ts';
import type { Position, Readers } from '../../store/port.ts';
import { mayCall } from '../core/access/reach.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import type { RecordKind } from '../core/kind.ts';
import type { Context } from '../core/registry/context.ts';
import type { RecordChanges } from './changes-by.ts';

/** Entries that one call looks at. */
const MOST_ENTRIES = 10_000;
const PAGE = 500;

export const otherEffects = z.object({
  calls: z.array(
    z.object({
      tool: z.string(),
      calls: z.int(),
      lastAt: timestamp,
      auditId: recordId.describe('The last of these calls in the audit log.'),
    }),
  ),
  complete: z.boolean().describe('False: there were more calls in that time than one call looks at.'),
});
export type OtherEffects = z.output<typeof otherEffects>;

interface Wanted {
  readonly by: { readonly runId?: string | undefined; readonly flowRunId?: string | undefined };
  /** The id of a principal, or of a run. */
  readonly actor: string;
  readonly since: string;
  readonly until?: string | undefined;
}

/**
 * Calls of the actor that worked and changed something else than these records: what was sent, or called elsewhere, or has no versions.
 * Undefined for who may not read the audit log.
 */
export async function otherEffectsOf(
  { by, actor, since: from, until: to }: Wanted,
  changed: readonly Changed[],
  { store, principal, server }: Pick<Context<Readers, never>, 'store' | 'principal' | 'server'>,
  most = MOST_ENTRIES,
): Promise<OtherEffects | undefined> {
  const { catalog, audit, kinds } = server;
  const reads = catalog.get('list_audit_entries')?.tool;
  if (!reads || !(await mayCall(principal, reads, {}, subjectsIn(store, kinds)))) return undefined;
  const withoutTools = catalog.entries
    .filter(({ tool }) => tool.annotations.readOnlyHint || tool.name === 'undo_changes')
    .map(({ tool }) => tool.name);
  const requestId = by.flowRunId ?? (by.runId === undefined ? undefined : await requestOf(store, by.runId));
  if (by.runId !== undefined && requestId === undefined) return { calls: [], complete: true };
  const isTheirs = ({ principal: caller, onBehalfOf = [], door }: AuditEntry) =>
    requestId === undefined
      ? [caller, ...onBehalfOf].some(({ id }) => id === actor)
      : by.flowRunId !== undefined || door === 'agent';
  const isAbout = aboutThese(changed, kinds);
  const found = new Map<string, OtherEffects['calls'][number]>();
  let seen = 0;
  for (let after: Position | undefined; ; ) {
    const query = { outcome: 'ok', withoutTools, requestId, from, to, limit: PAGE, after } as const;
    const { records, next } = await audit.find(query);
    for (const entry of records) {
      if (!isTheirs(entry) || isAbout(entry)) continue;
      const { tool, at: lastAt, id: auditId } = entry;
      const known = found.get(tool) ?? { tool, calls: 0, lastAt, auditId };
      found.set(tool, { ...known, calls: known.calls + 1 });
    }
    seen += records.length;
    if (!next || seen >= most) return { calls: [...found.values()], complete: !next };
    after = next;
  }
}

type Changed = Pick<RecordChanges, 'entityType' | 'entityId'>;
type Related = RecordKind & { readonly update?: { readonly name: string } | undefined };

/** Whether a call was about one of the changed records. A record with the id of another one is meant by its own tools alone. */
function aboutThese(changed: readonly Changed[], kinds: readonly Related[]): (entry: AuditEntry) => boolean {
  const byId = new Map<string, Changed[]>();
  for (const one of changed) byId.set(one.entityId, [...(byId.get(one.entityId) ?? []), one]);
  const isMeant =
    (entry: AuditEntry) =>
    ({ entityType, entityId }: Changed) => {
      const kind = kinds.find(({ type }) => type === entityType);
      const isItsOwn = kind && entityId.startsWith(`${collections[kind.collection].idPrefix}_`);
      return isItsOwn || entry.tool === kind?.update?.name || entry.arguments.entityType === entityType;
    };
  return (entry) => recordsOf(entry).some((id) => byId.get(id)?.some(isMeant(entry)));
}

/** The calls of an agent's run are those of agents in the request that began it. */
async function requestOf(store: Readers, runId: string): Promise<string | undefined> {
  return (await store.agentRuns.get(runId))?.requestId;
}
