import { type AuditEntry, recordsOf, withoutContent } from '../../../resources/audit-entry.ts';
import { collections } from '../../../store/collections.ts';
import { pagesOf } from '../../../store/pages.ts';
import type { Readers } from '../../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import { neededRights } from '../access/requirement.ts';
import { guardedAmong, guardedIdsIn, isSeen, mayKnowOf } from '../access/visibility.ts';
import { isVersioned } from '../kind.ts';
import type { ServerContext } from '../registry/context.ts';

export interface Caller {
  readonly store: Readers;
  readonly principal: Principal;
  readonly server: Pick<ServerContext, 'kinds'>;
}

type Auditor = Caller & { readonly server: Pick<ServerContext, 'catalog'> };

/** The entries as the caller may read them: without arguments, but for ids, where they may be content of a record that the caller cannot see. */
export async function withheldFrom(caller: Auditor, entries: readonly AuditEntry[]): Promise<readonly AuditEntry[]> {
  const { store, principal } = caller;
  if (principal.rights.isAdmin || entries.length === 0) return entries;
  const idsOf = new Map(entries.map((entry) => [entry, guardedIdsIn([recordsOf(entry), entry.arguments])]));
  const seen = await seenAmong(caller, [...new Set([...idsOf.values()].flat())]);
  const requests = await requestsOfHiddenRuns(store, principal, [...new Set(entries.map((entry) => entry.requestId))]);
  return entries.map((entry) => {
    const ids = idsOf.get(entry) ?? [];
    const isOpen = ids.length > 0 ? ids.every((id) => seen.has(id)) : !writesGuarded(caller, entry.tool);
    return isOpen && !requests.has(entry.requestId) ? entry : { ...withoutContent(entry), withheld: true as const };
  });
}

/** Whether the caller may see every record that is named anywhere in the value. */
export async function seesAllIn(caller: Caller, value: unknown): Promise<boolean> {
  if (caller.principal.rights.isAdmin) return true;
  const ids = new Set(guardedIdsIn(value));
  return (await seenAmong(caller, [...ids])).size === ids.size;
}

async function seenAmong({ store, principal, server }: Caller, ids: readonly string[]): Promise<Set<string>> {
  const found = new Map((await guardedAmong(store, ids)).map((record) => [record.id, record]));
  const seen = new Set<string>();
  for (const id of ids) {
    const record = found.get(id);
    const kind = server.kinds.find(({ collection }) => id.startsWith(`${collections[collection].idPrefix}_`));
    if (
      record
        ? isSeen(record, principal)
        : kind && isVersioned(kind) && (await mayKnowOf({ store, principal }, kind, id))
    )
      seen.add(id);
  }
  return seen;
}

/** Whether the tool writes records that some callers may not see. A call that names none of them may have been about any. */
function writesGuarded({ server: { catalog, kinds } }: Auditor, name: string): boolean {
  const tool = catalog.get(name)?.tool;
  if (!tool || tool.annotations.readOnlyHint) return false;
  const guarded = kinds.filter(({ collection }) => 'accessKeys' in collections[collection].schema.shape);
  return neededRights(tool.access).some(({ resource }) => guarded.some((kind) => kind.resource === resource));
}

/** Agents call with the words of the conversation that they are in. */
async function requestsOfHiddenRuns(
  { agentRuns }: Pick<Readers, 'agentRuns'>,
  principal: Principal,
  requestId: readonly string[],
): Promise<Set<string | undefined>> {
  const hidden = new Set<string | undefined>();
  for await (const runs of pagesOf(agentRuns, { where: { requestId }, limit: 500 })) {
    for (const run of runs) if (!isSeen(run, principal)) hidden.add(run.requestId);
  }
  return hidden;
}
