import { statSync } from 'node:fs';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { refusalOf } from '../disk-full.ts';
import type { StoreDamaged } from '../errors.ts';
import { Mutex } from '../mutex.ts';
import { nextSeqAfter } from '../rows/table-rows.ts';
import type {
  ExchangeRate,
  NamedQuery,
  Parameter,
  RawRows,
  ReadOptions,
  Rebuilt,
  RowBatch,
  RowSnapshot,
  RowStore,
  StagedRows,
} from '../rows-port.ts';
import { derivedTables } from '../sql/derived-tables.ts';
import { digestOf, replaceRates, usesRates } from '../sql/exchange-rates.ts';
import { rawTables } from '../sql/raw-tables.ts';
import { rebuildTable } from '../sql/rebuild.ts';
import { eraseUsers } from '../sql/writing/erase-users.ts';
import { type LoadedPart, loadRows } from '../sql/writing/load.ts';
import { putRows } from '../sql/writing/put.ts';
import { restoreRows } from '../sql/writing/restore.ts';
import { TouchedTables } from '../sql/writing/touched.ts';
import { DelayedRewrite } from './delayed-rewrite.ts';
import { digestOfTable } from './derived.ts';
import { currentRowsFile, rowsFile } from './files.ts';
import { closeRows, type OpenedRows, type RowsOptions } from './open-rows.ts';
import { copyTables, removeFile } from './rewrite.ts';
import { isFatal, RowsFile } from './rows-file.ts';
import { writeFact } from './schema.ts';
import { WriteTurn } from './write-turn.ts';

const LONG_LOG = 16 * 1024 * 1024;

/** Staged rows of this store. */
export interface StagedWrite extends StagedRows {
  /** What the version is once they count. */
  readonly version: number;
  commit(entries: readonly AuditEntry[]): Promise<void>;
}

/** Imported rows in DuckDB, in one file. It is opened at the first need. */
export class DuckRowStore implements RowStore {
  version = 0;
  readonly #options: RowsOptions;
  readonly #rows: RowsFile;
  readonly #turns = new Mutex();
  readonly #rewriting = new DelayedRewrite(() => this.#rewrite());
  #nextSeq = 0;
  /** Audit entries of the rows that may not be in the audit log yet. */
  #unconfirmed = 0;
  /** The digest of the exchange rates in use, as far as known. */
  #rates: string | undefined;

  constructor(options: RowsOptions) {
    this.#options = options;
    this.#rows = new RowsFile(options, ({ version, nextSeq, isRewriteDue }) => {
      this.version = version;
      this.#nextSeq = nextSeq;
      if (isRewriteDue) this.#rewriting.soon();
    });
  }

  async wake(): Promise<void> {
    const { folder, recovery } = this.#options;
    const hasRows = folder !== undefined && (currentRowsFile(folder) > 0 || (recovery?.leastVersion() ?? 0) > 0);
    if (hasRows) await this.#rows.get();
  }

  async ready(): Promise<void> {
    await this.#rows.get();
  }

  async stage(batch: RowBatch): Promise<StagedWrite> {
    const turn = await this.#write();
    const counts = await turn.work(async (writer) => {
      const touched = new TouchedTables(writer);
      const counts = await putRows(writer, batch, { touched, nextSeq: () => this.#nextSeq++ });
      await touched.renew();
      return counts;
    });
    const { created, updated, unchanged } = counts;
    const isChange = created + updated > 0;
    return {
      created,
      updated,
      unchanged,
      version: isChange ? turn.version : turn.version - 1,
      // Rows that change nothing need not be written, nor their audit entry be kept beside them.
      commit: (entries) => (isChange ? turn.commit(entries) : turn.discard()),
      discard: () => turn.discard(),
    };
  }

  async restore(kept: RawRows): Promise<StagedWrite> {
    const turn = await this.#write();
    const counts = await turn.work((writer) => restoreRows(writer, kept));
    // Rows that are imported later come after these.
    this.#nextSeq = Math.max(this.#nextSeq, nextSeqAfter(kept));
    return {
      ...counts,
      version: turn.version,
      commit: (entries) => turn.commit(entries),
      discard: () => turn.discard(),
    };
  }

  /** Replaces all rows by these, in one transaction. */
  async load(parts: Iterable<LoadedPart> | AsyncIterable<LoadedPart>): Promise<void> {
    const turn = await this.#write();
    await turn.work((writer) => loadRows(writer, parts, () => this.#nextSeq++));
    await turn.commit();
  }

  /** Removes all that was imported about the users. */
  async erase(uids: readonly string[], entries: readonly AuditEntry[] = []): Promise<void> {
    const turn = await this.#write();
    await turn.work(async (writer) => {
      const touched = new TouchedTables(writer);
      await eraseUsers(writer, uids, touched);
      await touched.renew();
      await writeFact(writer, 'rewrite', 'due');
    });
    await turn.commit(entries);
    this.#rewriting.soon();
  }

  /** Keeps the audit entries of earlier writes until the audit log is known to have them. */
  keepUnconfirmed(confirmed: Promise<unknown>): void {
    this.#unconfirmed += 1;
    confirmed
      .then(() => {
        this.#unconfirmed -= 1;
      })
      .catch(() => {});
  }

  async useRates(rates: readonly ExchangeRate[]): Promise<void> {
    const digest = digestOf(rates);
    if (digest === this.#rates) return;
    const turn = await this.#write();
    const isChange = await turn.work(async (writer) => {
      if (await usesRates(writer, digest)) return false;
      await replaceRates(writer, rates, digest);
      return true;
    });
    await (isChange ? turn.commit() : turn.discard());
    this.#rates = digest;
  }

  async rebuild(names?: readonly string[]): Promise<readonly Rebuilt[]> {
    const turn = await this.#write();
    const wanted = derivedTables.filter(({ name }) => names?.includes(name) ?? true);
    const rebuilt = await turn.work(async (writer) => {
      const found: Rebuilt[] = [];
      for (const table of wanted) {
        const before = await digestOfTable(writer, table.name);
        await rebuildTable(writer, table);
        const { rows, digest } = await digestOfTable(writer, table.name);
        found.push({ table: table.name, rows, equal: digest === before.digest });
      }
      return found;
    });
    await turn.commit();
    return rebuilt;
  }

  async check(): Promise<void> {
    const tables = [...Object.keys(rawTables), ...derivedTables.map(({ name }) => name)];
    await this.#rows.use(async ({ writer }) => {
      for (const table of tables) await digestOfTable(writer, table);
    });
  }

  async query<Row>(query: NamedQuery, parameters?: readonly Parameter[], options?: ReadOptions) {
    return this.#rows.use(({ quick }) => quick.read((snapshot) => snapshot.query<Row>(query, parameters), options));
  }

  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, options?: ReadOptions): Promise<Result> {
    const rates = options?.rates;
    if (!rates) return this.#rows.use(({ readers }) => readers.read(work, options));
    const digest = digestOf(rates);
    const workByRates = async (snapshot: RowSnapshot) =>
      (await usesRates(snapshot, digest)) ? { result: await work(snapshot) } : undefined;
    for (;;) {
      const read = await this.#rows.use(({ readers }) => readers.read(workByRates, options));
      if (read) return read.result;
      this.#rates = undefined;
      await this.useRates(rates);
    }
  }

  /** What went wrong in the background. */
  get error(): Error | undefined {
    return this.#rewriting.error;
  }

  /** What of the rows is damaged, as far as anybody came upon it, and how to recover. */
  get damage(): StoreDamaged | undefined {
    return this.#rows.damage;
  }

  /** Lets running questions and writes end, and closes the file. */
  async close(): Promise<void> {
    this.#rewriting.stop();
    const endTurn = await this.#turns.take();
    try {
      await this.#rows.close();
    } finally {
      endTurn();
    }
  }

  /** Puts a copy in place of the file. Questions that run end on the old one. */
  async #rewrite(): Promise<void> {
    const { folder } = this.#options;
    if (folder === undefined) return;
    const endTurn = await this.#turns.take();
    try {
      const old = await this.#rows.get();
      const file = old.file + 1;
      await copyTables(old.writer, rowsFile(folder, file));
      await this.#rows.replaceBy(file);
      await closeRows(old);
      await removeFile(rowsFile(folder, old.file));
    } finally {
      endTurn();
    }
  }

  /** Waits for the turn to write, and begins. */
  async #write(): Promise<WriteTurn> {
    await this.#rows.get();
    const endTurn = await this.#turns.take();
    try {
      const opened = await this.#rows.get();
      const turn = await this.#begin(opened);
      opened.writing = turn.ended;
      turn.ended.then(() => {
        this.#rows.note(turn.failure);
        if (isFatal(turn.failure)) this.#rows.reopen(opened);
        endTurn();
      });
      return turn;
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  async #begin(opened: OpenedRows): Promise<WriteTurn> {
    const { writer, file } = opened;
    const version = this.version + 1;
    try {
      if (this.#isLogLong(file)) await writer.runOnce('checkpoint');
      return await WriteTurn.begin({
        writer,
        version,
        place: this.#placeOf(file),
        keepsUnconfirmed: this.#unconfirmed > 0,
        onCommit: () => {
          this.version = version;
        },
      });
    } catch (cause) {
      if (isFatal(cause)) this.#rows.reopen(opened);
      throw refusalOf(cause, this.#placeOf(file), 'the rows could not be written to the disk');
    }
  }

  #placeOf(file: number): string {
    const { folder } = this.#options;
    return folder === undefined ? 'memory' : rowsFile(folder, file);
  }

  /** Whether the log of later writes is to be merged into the file, which takes longer than a commit may. */
  #isLogLong(file: number): boolean {
    const { folder } = this.#options;
    const log = folder && statSync(`${rowsFile(folder, file)}.wal`, { throwIfNoEntry: false });
    return log ? log.size > LONG_LOG : false;
  }
}
