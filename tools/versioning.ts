import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { canonicalize } from 'json-canonicalize';
import type { Author, EntityType, Version, VersionKind, VersionRecord } from '../resources/version.ts';
import { ByCollection } from '../store/by-collection.ts';
import type { CollectionName, RecordOf } from '../store/collections.ts';
import { NotFound } from '../store/errors.ts';
import type { Guard, NewRecord, Reader, Transaction, Where, Writer } from '../store/port.ts';
import type { Context } from './context.ts';
import type { Tool } from './define-tool.ts';
import { forgetOutputs } from './flows/queue.ts';
import { forgetAnswers } from './idempotency.ts';

export type Payload = Readonly<Record<string, unknown>>;

/** How one kind of record is kept in history. */
export interface Entity<Name extends CollectionName = CollectionName> {
  readonly type: EntityType;
  readonly collection: Name;
  /** The tools whose access decides who sees the history and who restores from it. */
  readonly getTool: Tool;
  readonly updateTool: Tool;
  /** The member that is the text of a text entity. */
  readonly text?: string;
  /** The record without server-managed secrets. */
  payload(record: RecordOf<Name>): Payload;
  /**
   * The record to store when one of its earlier states is restored: checked against what is there now, with the members
   * that only the server writes as they are now. Without it the state is stored as it was.
   */
  prepareRestore?(
    state: RecordOf<Name>,
    current: RecordOf<Name> | undefined,
    context: Context<HistoryWriters, 'conflict'>,
  ): Promise<NewRecord<RecordOf<Name>>>;
}

/** What a change leaves in the history besides the new state. */
interface VersionNote {
  /** `snapshot` unless given; a `delete` holds the state before. */
  readonly kind?: VersionKind;
  readonly changeDescription?: string | undefined;
}

/** A writer that also writes a version with every change, where the collection is a versioned one. */
interface HistoryWriter<Record> extends Reader<Record> {
  insert(record: NewRecord<Record>, note?: VersionNote): Promise<Record>;
  update(id: string, change: Parameters<Writer<Record>['update']>[1], options?: Guard & VersionNote): Promise<Record>;
  touch: Writer<Record>['touch'];
  delete(id: string, options?: Guard & VersionNote): Promise<Record>;
}
export type HistoryWriters = { readonly [Name in CollectionName]: HistoryWriter<RecordOf<Name>> } & Pick<
  Transaction,
  'rows'
> & {
    /**
     * Removes the record and its versions and leaves no version, kept answer or audited arguments that tell of it.
     * Returns whether there was anything to remove.
     */
    purge(collection: CollectionName, id: string): Promise<boolean>;
  };

/** The transaction as handlers get it: changes of versioned records cannot be made without their version. */
export function withHistory(
  tx: Transaction,
  entities: readonly Entity[],
  author: Author,
  now: () => Date = () => new Date(),
): HistoryWriters {
  // It makes the member of each collection that the type names.
  return new HistoryView({ tx, entities, author, now }) as unknown as HistoryWriters;
}

interface HistoryParts {
  readonly tx: Transaction;
  readonly entities: readonly Entity[];
  readonly author: Author;
  readonly now: () => Date;
}

class HistoryView extends ByCollection<unknown> {
  readonly #parts: HistoryParts;

  constructor(parts: HistoryParts) {
    super();
    this.#parts = parts;
  }

  get rows(): Transaction['rows'] {
    return this.#parts.tx.rows;
  }

  async purge(collection: CollectionName, id: string): Promise<boolean> {
    const { tx, entities } = this.#parts;
    const found = await tx[collection].get(id);
    if (found) await tx[collection].delete(id);
    const types = entities.filter((entity) => entity.collection === collection).map(({ type }) => type);
    const versions = await deleteAll(tx.versions, { entityType: types, entityId: id });
    await forgetAnswers(tx, id);
    await forgetOutputs(tx, id);
    tx.erase([id]);
    return found !== undefined || versions > 0;
  }

  protected make(collection: CollectionName): unknown {
    const { tx, entities } = this.#parts;
    const entity = entities.find((each) => each.collection === collection);
    return entity ? historyWriter(entity, this.#parts) : tx[collection];
  }
}

const BATCH = 500;

async function deleteAll(versions: Transaction['versions'], where: Where<VersionRecord>): Promise<number> {
  for (let deleted = 0; ; ) {
    const { records } = await versions.find({ where, limit: BATCH });
    for (const { id } of records) await versions.delete(id);
    deleted += records.length;
    if (records.length < BATCH) return deleted;
    await setImmediate();
  }
}

function historyWriter<Name extends CollectionName>(entity: Entity<Name>, { tx, author, now }: HistoryParts) {
  type Kept = RecordOf<Name> & { readonly id: string; readonly revision: number };
  // TypeScript does not relate the indexed access on a generic name to the record type of the entity of that name.
  const writer = tx[entity.collection] as unknown as Writer<Kept>;

  async function note(state: Kept, revision: number, { kind = 'snapshot', changeDescription }: VersionNote = {}) {
    const payload = entity.payload(state);
    const createdAt = await timeOfNext(state.id, revision);
    await tx.versions.insert({
      ...(createdAt !== undefined && { createdAt }),
      entityType: entity.type,
      entityId: state.id,
      revision,
      kind,
      contentHash: hash(contentOf(entity, payload)),
      payload,
      author,
      ...(changeDescription !== undefined && { changeDescription }),
    });
  }
  /** Later than the version before, also when the clock went back, so that the order in time is the order of revisions. */
  async function timeOfNext(entityId: string, revision: number): Promise<string | undefined> {
    if (revision === 1) return undefined;
    const { records } = await tx.versions.find({ where: { entityType: entity.type, entityId }, limit: 1 });
    const previous = records[0] ? Date.parse(records[0].createdAt) : 0;
    return previous < now().getTime() ? undefined : new Date(previous + 1).toISOString();
  }
  async function before(id: string): Promise<Kept> {
    const found = await writer.get(id);
    if (!found) throw new NotFound(entity.collection, id);
    return found;
  }

  const history: HistoryWriter<Kept> = {
    get: (id) => writer.get(id),
    find: (query) => writer.find(query),
    count: (query) => writer.count(query),
    touch: (id, change) => writer.touch(id, change),
    async insert(record, versionNote) {
      const inserted = await writer.insert(record);
      await note(inserted, inserted.revision, versionNote);
      return inserted;
    },
    async update(id, change, options) {
      const old = await before(id);
      const updated = await writer.update(id, change, options);
      if (updated.revision !== old.revision) {
        await note(options?.kind === 'delete' ? old : updated, updated.revision, options);
      }
      return updated;
    },
    async delete(id, options) {
      const removed = await writer.delete(id, options);
      await note(removed, removed.revision + 1, { ...options, kind: 'delete' });
      return removed;
    },
  };
  return history;
}

/** Payload members that every version has of its own. */
export function withoutBookkeeping<Kept extends { updatedAt: string; revision: number }>(record: Kept): Payload {
  const { updatedAt: _, revision: __, ...rest } = record;
  return rest;
}

export function contentOf({ text }: Pick<Entity, 'text'>, payload: Payload): string {
  return text === undefined ? canonicalize(payload) : String(payload[text] ?? '');
}

export function showVersion(entity: Pick<Entity, 'text'>, record: VersionRecord): Version {
  return { ...record, content: contentOf(entity, record.payload) };
}

function hash(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
