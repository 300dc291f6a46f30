import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { canonicalize } from 'json-canonicalize';
import type { Author, EntityType, Version, VersionKind, VersionRecord } from '../../resources/version.ts';
import { ByCollection } from '../../store/by-collection.ts';
import type { CollectionName, RecordOf } from '../../store/collections.ts';
import { NotFound } from '../../store/errors.ts';
import type { Change, Guard, NewRecord, Query, Reader, Readers, Transaction, Where, Writer } from '../../store/port.ts';
import { forgetOutputs } from '../flows/queue.ts';
import type { Context } from '../registry/context.ts';
import { forgetAnswers } from '../registry/idempotency.ts';
import type { Tool } from '../registry/tool.ts';

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
  /** A payload as callers see it, where that is not as it is kept. */
  shown?(payload: Payload, store: Readers): Promise<Payload>;
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
  update(id: string, change: Change<Record>, options?: Guard & VersionNote): Promise<Record>;
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
    return entity ? new VersionedWriter(entity, this.#parts) : tx[collection];
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

type KeptRecord<Name extends CollectionName> = RecordOf<Name> & { readonly id: string; readonly revision: number };

/** Writes a version with every change of one kind of record. */
class VersionedWriter<Name extends CollectionName> implements HistoryWriter<KeptRecord<Name>> {
  readonly #entity: Entity<Name>;
  readonly #parts: HistoryParts;
  readonly #writer: Writer<KeptRecord<Name>>;

  constructor(entity: Entity<Name>, parts: HistoryParts) {
    this.#entity = entity;
    this.#parts = parts;
    // TypeScript does not relate the indexed access on a generic name to the record type of the entity of that name.
    this.#writer = parts.tx[entity.collection] as unknown as Writer<KeptRecord<Name>>;
  }

  get(id: string) {
    return this.#writer.get(id);
  }

  find(query: Query<KeptRecord<Name>>) {
    return this.#writer.find(query);
  }

  count(query: Parameters<Reader<KeptRecord<Name>>['count']>[0]) {
    return this.#writer.count(query);
  }

  touch(id: string, change: Change<KeptRecord<Name>>) {
    return this.#writer.touch(id, change);
  }

  async insert(record: NewRecord<KeptRecord<Name>>, note?: VersionNote): Promise<KeptRecord<Name>> {
    const inserted = await this.#writer.insert(record);
    await this.#note(inserted, inserted.revision, note);
    return inserted;
  }

  async update(id: string, change: Change<KeptRecord<Name>>, options?: Guard & VersionNote): Promise<KeptRecord<Name>> {
    const old = await this.#writer.get(id);
    if (!old) throw new NotFound(this.#entity.collection, id);
    const updated = await this.#writer.update(id, change, options);
    if (updated.revision !== old.revision) {
      await this.#note(options?.kind === 'delete' ? old : updated, updated.revision, options);
    }
    return updated;
  }

  async delete(id: string, options?: Guard & VersionNote): Promise<KeptRecord<Name>> {
    const removed = await this.#writer.delete(id, options);
    await this.#note(removed, removed.revision + 1, { ...options, kind: 'delete' });
    return removed;
  }

  async #note(state: KeptRecord<Name>, revision: number, { kind = 'snapshot', changeDescription }: VersionNote = {}) {
    const { tx, author } = this.#parts;
    const payload = this.#entity.payload(state);
    const createdAt = await this.#timeOfNext(state.id, revision);
    await tx.versions.insert({
      ...(createdAt !== undefined && { createdAt }),
      entityType: this.#entity.type,
      entityId: state.id,
      revision,
      kind,
      contentHash: hash('sha256', contentOf(this.#entity, payload)),
      payload,
      author,
      ...(changeDescription !== undefined && { changeDescription }),
    });
  }

  /** Later than the version before, also when the clock went back, so that the order in time is the order of revisions. */
  async #timeOfNext(entityId: string, revision: number): Promise<string | undefined> {
    if (revision === 1) return undefined;
    const { tx, now } = this.#parts;
    const where = { entityType: this.#entity.type, entityId };
    const { records } = await tx.versions.find({ where, limit: 1 });
    const previous = records[0] ? Date.parse(records[0].createdAt) : 0;
    return previous < now().getTime() ? undefined : new Date(previous + 1).toISOString();
  }
}

/** Payload members that every version has of its own. */
export function withoutBookkeeping<Kept extends { updatedAt: string; revision: number }>(record: Kept): Payload {
  const { updatedAt: _, revision: __, ...rest } = record;
  return rest;
}

export function contentOf({ text }: Pick<Entity, 'text'>, payload: Payload): string {
  return text === undefined ? canonicalize(payload) : String(payload[text] ?? '');
}

type Shown = Pick<Entity, 'text' | 'shown'>;

export function shownPayload(entity: Shown, payload: Payload, store: Readers): Payload | Promise<Payload> {
  return entity.shown ? entity.shown(payload, store) : payload;
}

export async function showVersion(entity: Shown, record: VersionRecord, store: Readers): Promise<Version> {
  if (!entity.shown) return { ...record, content: contentOf(entity, record.payload) };
  const payload = await entity.shown(record.payload, store);
  const content = contentOf(entity, payload);
  return { ...record, payload, content, contentHash: hash('sha256', content) };
}
