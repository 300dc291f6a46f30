import type { AuditEntry } from '../../resources/audit-entry.ts';
import type { StagedWrite } from '../duckdb/row-store.ts';
import { newId } from '../ids.ts';
import type { Transaction } from '../port.ts';
import type { Row } from '../row.ts';
import { type CollectedWork, TransactionView } from '../transaction-view.ts';
import type { TransactionBody } from './journal/recovery.ts';
import type { StoredChange } from './journal/undo-log.ts';
import type { Collection } from './records/collection.ts';
import { ROW_ERASURES, ROW_VERSION_ID, ROW_VERSIONS } from './records/own-collections.ts';
import type { FindIn } from './records/query.ts';
import { Staging } from './records/writer.ts';

interface TransactionDeps {
  readonly collections: ReadonlyMap<string, Collection>;
  readonly now: () => string;
}

export class StagedTransaction implements CollectedWork {
  readonly audit: AuditEntry[] = [];
  readonly erased: string[] = [];
  /** Made by this store. */
  batch: StagedWrite | undefined;
  hasCommittedRows = false;
  readonly erasedUsers: string[] = [];
  readonly #deps: TransactionDeps;
  readonly #changes = new Map<string, Staging['changes']>();
  #ended = false;

  constructor(deps: TransactionDeps) {
    this.#deps = deps;
  }

  async run<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    try {
      const view: TransactionView<Staging> = new TransactionView(this, (name) => this.#stage(name, findIn));
      const findIn: FindIn = (name, query) => (Reflect.get(view, name) as Staging).find(query); // the member of that name
      // A staging checks each record by its collection's schema, so it is a writer of that collection's records.
      return await work(view as unknown as Transaction);
    } finally {
      this.#ended = true;
    }
  }

  #stage(name: string, find: FindIn): Staging {
    const { collections, now } = this.#deps;
    const collection = collections.get(name);
    if (!collection) throw new Error(`there is no collection ${name}`);
    collection.expire(now);
    const staging = new Staging(collection, { now, assertLive: () => this.assertLive(), find });
    this.#changes.set(name, staging.changes);
    return staging;
  }

  placeVersion(version: number): void {
    this.#put(ROW_VERSIONS, ROW_VERSION_ID, { version });
  }

  /** Notes that the rows of these users are being removed. Returns the ids of the notes. */
  placeErasures(uids: readonly string[]): string[] {
    return uids.map((uid) => {
      const id = newId('roe');
      this.#put(ROW_ERASURES, id, { uid });
      return id;
    });
  }

  removeErasures(ids: readonly string[]): void {
    this.#changes.set(ROW_ERASURES, new Map(ids.map((id) => [id, undefined])));
    // The journals still name the users.
    this.erased.push(...ids);
  }

  #put(collection: string, id: string, members: object): void {
    const now = this.#deps.now();
    const row: Row = Object.freeze({ id, ...members, createdAt: now, updatedAt: now, revision: 1 });
    const changes = this.#changes.get(collection) ?? new Map<string, Row | undefined>();
    this.#changes.set(collection, changes.set(id, row));
  }

  changes(): StoredChange[] {
    const all: StoredChange[] = [];
    for (const [collection, changes] of this.#changes) {
      for (const [id, row] of changes) all.push({ collection, id, row });
    }
    return all;
  }

  /** Ids of the records of the collection that it deletes. */
  removed(collection: string): string[] {
    return [...(this.#changes.get(collection) ?? [])].flatMap(([id, row]) => (row ? [] : [id]));
  }

  body(): TransactionBody | undefined {
    const put: Record<string, Row[]> = {};
    const deleted: Record<string, string[]> = {};
    for (const [name, changes] of this.#changes) {
      const rows: Row[] = [];
      const gone: string[] = [];
      for (const [id, row] of changes) {
        if (row) rows.push(row);
        else gone.push(id);
      }
      if (rows.length > 0) put[name] = rows;
      if (gone.length > 0) deleted[name] = gone;
    }
    const body = {
      ...(Object.keys(put).length > 0 && { put }),
      ...(Object.keys(deleted).length > 0 && { delete: deleted }),
      ...(this.audit.length > 0 && { audit: this.audit }),
      ...(this.erased.length > 0 && { erased: this.erased }),
    };
    return Object.keys(body).length > 0 ? body : undefined;
  }

  assertLive(): void {
    if (this.#ended) throw new Error('the transaction has ended');
  }
}
