import type { CollectionName } from '../../collections.ts';
import type { RecordChange } from '../../port.ts';
import type { Session } from '../session.ts';

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

/** Writes down what the transaction changed. Called in the transaction, right before its COMMIT. */
export async function noteChanges(session: Session, process: string, changes: readonly RecordChange[]): Promise<void> {
  if (changes.length === 0) return;
  const collections = [...new Set(changes.map(({ collection }) => collection))];
  const urgent = changes.some(({ collection, kind, record }) => isUrgent(collection, kind, record));
  await session.query({
    name: 'cluster_note_changes',
    text: NOTE,
    values: [process, collections, JSON.stringify(changes.map(noted)), urgent],
  });
}

const NOTE = `insert into cluster_changes (process, collections, records) values ($1, $2, $3)
  returning case when $4 then pg_notify('${CHANGED}', '')::text end`;

/** Nobody knows a new credential yet. */
function isUrgent(collection: CollectionName, kind: RecordChange['kind'], record: RecordChange['record']): boolean {
  if (!URGENT.has(collection) || (collection === 'oauthStates' && record.kind !== 'AccessToken')) return false;
  return kind !== 'created' || collection === 'integrations';
}

function noted({ collection, kind, record }: RecordChange): NotedChange {
  return { collection, id: record.id, kind, ...(kind === 'deleted' && { record }) };
}
