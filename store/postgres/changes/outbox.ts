import type { CollectionName } from '../../collections.ts';
import type { RecordChange } from '../../port.ts';
import type { BatchedStatement } from '../batched-writes.ts';

/** Wakes the other processes. */
export const CHANGED = 'agent_admin_changed';

/**
 * What decides about callers, or about the tools there are. The others hear of a change at once. Of all else they hear when they next ask,
 * because each NOTIFY holds up all other commits of the database for a moment.
 */
const URGENT: ReadonlySet<CollectionName> = new Set([
  'apiKeys',
  'capsules',
  'connectedApps',
  'adminUsers',
  'sessions',
  'oauthStates',
  'settings',
  'integrations',
]);

/** A change as it is written down for the other processes. */
export interface NotedChange {
  readonly collection: CollectionName;
  readonly id: string;
  readonly kind: RecordChange['kind'];
  /** A deleted record as it was. Others are read when they are needed. */
  readonly record?: RecordChange['record'];
}

/** Writes down what the transaction changed, right before its COMMIT. */
export function notedChanges(process: string, changes: readonly RecordChange[]): BatchedStatement {
  const collections = [...new Set(changes.map(({ collection }) => collection))];
  const isUrgent = changes.some(isUrgentChange);
  return {
    name: isUrgent ? 'urgent_changes' : 'changes',
    text: ([by, of, records]) => `insert into cluster_changes (process, collections, records)
      values (${by}::text, ${of}::text[], ${records}::json)${isUrgent ? ` returning pg_notify('${CHANGED}', '')::text` : ''}`,
    values: [process, collections, JSON.stringify(changes.map(noted))],
  };
}

/** Nobody knows a new credential yet. */
function isUrgentChange({ collection, kind, record }: RecordChange): boolean {
  if (!URGENT.has(collection) || (collection === 'oauthStates' && record.kind !== 'AccessToken')) return false;
  return kind !== 'created' || collection === 'integrations';
}

function noted({ collection, kind, record }: RecordChange): NotedChange {
  return { collection, id: record.id, kind, ...(kind === 'deleted' && { record }) };
}
