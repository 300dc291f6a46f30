import type { VersionRecord } from '../../resources/version.ts';
import { type CollectionName, collections } from '../../store/collections.ts';
import type { Readers } from '../../store/port.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { Payload, VersionedKind } from '../core/kind.ts';
import type { Context } from '../core/registry/context.ts';
import type { History, Kind } from '../core/registry/define-kind.ts';
import type { Staged } from '../core/registry/tool.ts';

export type Versioned = Kind & VersionedKind & { readonly history: History };

interface Restoring {
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
  if (current) await records.update(entityId, { ...clearing(collection), ...restored }, note);
  else await records.insert({ ...restored, revision: revision + 1 }, note);
}

export function stateOf(collection: CollectionName, { payload, createdAt, revision }: VersionRecord, next = revision) {
  return collections[collection].schema.parse({ ...payload, updatedAt: createdAt, revision: next });
}

/** Why the earlier state cannot be beside another record of today. */
export async function takenBy(
  { collection }: Versioned,
  before: VersionRecord | undefined,
  store: Readers,
): Promise<string | undefined> {
  if (!before) return undefined;
  const { entityId, payload } = before;
  for (const { fields, except } of collections[collection].unique) {
    const values = fields.map((field) => [field, payload[field]] as const);
    const counts = (record: Payload) => !except || record[except.field] !== except.value;
    if (values.some(([, value]) => value === undefined) || !counts(payload)) continue;
    const reader: { find(query: object): Promise<{ records: readonly Payload[] }> } = store[collection];
    const { records } = await reader.find({ where: Object.fromEntries(values), limit: 5 });
    const other = records.find((each) => each.id !== entityId && counts(each));
    if (other) return `Its ${fields.join(' and ')} of before now belongs to ${other.id}.`;
  }
  return undefined;
}

interface AnyHistory {
  get(id: string): Promise<Payload | undefined>;
  insert(record: Payload, note: object): Promise<unknown>;
  update(id: string, change: Payload, options: object): Promise<unknown>;
}

/** A change that removes every member that the schema knows; those with a bookkeeping meaning stay. */
export function clearing(collection: CollectionName): Payload {
  const kept = new Set(['id', 'createdAt', 'updatedAt', 'revision']);
  const members = Object.keys(collections[collection].schema.shape);
  return Object.fromEntries(members.map((member) => [member, kept.has(member) ? undefined : null]));
}
