import type { VersionRecord } from '../../resources/version.ts';
import { type CollectionName, collections } from '../../store/collections.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { Payload, VersionedKind } from '../core/kind.ts';
import type { Context } from '../core/registry/context.ts';
import type { History, Kind } from '../core/registry/define-kind.ts';
import type { Staged } from '../core/registry/tool.ts';

export type Versioned = Kind & VersionedKind & { readonly history: History };

export interface Restoring {
  readonly target: VersionRecord;
  readonly latest: VersionRecord;
  readonly staged: Staged | undefined;
  /** What the new version says of itself. */
  readonly changeDescription: string;
}

/** Stores the earlier state of the record, deleted ones too, as a new version. */
export async function bringBack(
  { collection, history }: Versioned,
  { target, latest: { revision }, staged, changeDescription }: Restoring,
  context: Context<HistoryWriters, 'conflict'>,
): Promise<void> {
  const records = context.store[collection] as AnyHistory; // of the kind's own collection, as is its schema
  const { entityId } = target;
  const current = await records.get(entityId);
  const state = stateOf(collection, target, revision);
  const prepared = history.prepareRestore
    ? await history.prepareRestore(state as never, current as never, context, staged)
    : state;
  const { updatedAt: _, revision: __, ...restored } = prepared as Payload & { updatedAt?: unknown; revision?: unknown };
  const note = { kind: 'restore', changeDescription } as const;
  if (current) await records.update(entityId, { ...clearing(current), ...restored }, note);
  else await records.insert({ ...restored, revision: revision + 1 }, note);
}

export function stateOf(collection: CollectionName, { payload, createdAt, revision }: VersionRecord, next = revision) {
  return collections[collection].schema.parse({ ...payload, updatedAt: createdAt, revision: next });
}

interface AnyHistory {
  get(id: string): Promise<Payload | undefined>;
  insert(record: Payload, note: object): Promise<unknown>;
  update(id: string, change: Payload, options: object): Promise<unknown>;
}

/** A change that removes every member of the record; those with a bookkeeping meaning stay. */
export function clearing(record: Payload): Payload {
  const kept = new Set(['id', 'createdAt', 'updatedAt', 'revision']);
  return Object.fromEntries(Object.keys(record).map((member) => [member, kept.has(member) ? undefined : null]));
}
