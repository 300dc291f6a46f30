import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { StoreBusy, StoreUnavailable } from '../errors.ts';
import type {
  ExchangeRate,
  NamedQuery,
  Parameter,
  ReadOptions,
  Rebuilt,
  RowBatch,
  RowSnapshot,
  RowStore,
  StagedRows,
} from '../rows-port.ts';
import { derivedTables } from '../sql/derived-tables.ts';
import { rawTables } from '../sql/raw-tables.ts';
import { Turns } from '../turns.ts';
import { digestOfTable, rebuildTable } from './derived.ts';
import { digestOf, replaceRates, usesRates } from './exchange-rates.ts';
import { currentRowsFile, rowsFile } from './files.ts';
import { closeRows, type OpenedRows, openFile, openRows, type RowsOptions } from './open-rows.ts';
import { copyTables, removeFile } from './rewrite.ts';
import { Rewriting } from './rewriting.ts';
import { writeFact } from './schema.ts';
import { WriteTurn } from './write-turn.ts';
import { eraseUsers } from './writing/erase-users.ts';
import { type LoadedPart, loadRows } from './writing/load.ts';
import { putRows } from './writing/put.ts';
import { TouchedTables } from './writing/touched.ts';

const LONG_LOG = 16 * 1024 * 1024;

/** How long a call waits while the rows of an earlier version are moved. */
const PATIENCE_MS = 3000;

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
  readonly #turns = new Turns();
  readonly #rewriting = new Rewriting(() => this.#rewrite());
  #opening: Promise<OpenedRows> | undefined;
  #isClosed = false;
  #nextSeq = 0;
  /** Audit entries of the rows that may not be in the audit log yet. */
  #unconfirmed = 0;
  /** The digest of the exchange rates in use, as far as known. */
  #rates: string | undefined;

  constructor(options: RowsOptions) {
    this.#options = options;
  }

  async wake(): Promise<void> {
    const { folder, recovery } = this.#options;
    if (recovery?.former() || (folder !== undefined && currentRowsFile(folder) > 0)) await this.#opened();
  }

  async ready(): Promise<void> {
    await this.#opened();
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
    const { writer } = await this.#opened();
    const tables = [...Object.keys(rawTables), ...derivedTables.map(({ name }) => name)];
    for (const table of tables) await digestOfTable(writer, table);
  }

  async query<Row>(query: NamedQuery, parameters?: readonly Parameter[], options?: ReadOptions) {
    const { quick } = await this.#unlessMoving();
    return quick.read((snapshot) => snapshot.query<Row>(query, parameters), options);
  }

  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, options?: ReadOptions): Promise<Result> {
    const rates = options?.rates;
    const { readers } = await this.#unlessMoving();
    if (!rates) return readers.read(work, options);
    const digest = digestOf(rates);
    for (;;) {
      const { readers } = await this.#opened();
      const read = await readers.read(
        async (snapshot) => ((await usesRates(snapshot, digest)) ? { result: await work(snapshot) } : undefined),
        options,
      );
      if (read) return read.result;
      this.#rates = undefined;
      await this.useRates(rates);
    }
  }

  /** What went wrong in the background. */
  get error(): Error | undefined {
    return this.#rewriting.error;
  }

  /** Lets running questions and writes end, and closes the file. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rewriting.stop();
    const endTurn = await this.#turns.take();
    try {
      const opened = await this.#opening?.catch(() => undefined);
      if (!opened) return;
      await closeRows(opened);
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
      const old = await this.#opened();
      const file = old.file + 1;
      await copyTables(old.writer, rowsFile(folder, file));
      this.#opening = openFile(this.#options, file);
      await this.#opening;
      await closeRows(old);
      await removeFile(rowsFile(folder, old.file));
    } finally {
      endTurn();
    }
  }

  /** Waits for the turn to write, and begins. */
  async #write(): Promise<WriteTurn> {
    await this.#unlessMoving();
    const endTurn = await this.#turns.take();
    try {
      const { writer, file } = await this.#opened();
      if (this.#isLogLong(file)) await writer.runOnce('checkpoint');
      const version = this.version + 1;
      return await WriteTurn.begin({
        writer,
        version,
        keepsUnconfirmed: this.#unconfirmed > 0,
        onCommit: () => {
          this.version = version;
        },
        onEnd: (error) => {
          if (isFatal(error)) this.#reopen();
          endTurn();
        },
      });
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  /** Whether the log of later writes is to be merged into the file, which takes longer than a commit may. */
  #isLogLong(file: number): boolean {
    const { folder } = this.#options;
    const log = folder && statSync(`${rowsFile(folder, file)}.wal`, { throwIfNoEntry: false });
    return log ? log.size > LONG_LOG : false;
  }

  /** After an error from which the engine does not recover by itself. */
  #reopen(): void {
    const broken = this.#opening;
    this.#opening = undefined;
    broken?.then(closeRows).catch(() => {});
  }

  #opened(): Promise<OpenedRows> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the store is closed'));
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** Callers do not wait until the rows of an earlier version are moved. */
  async #unlessMoving(): Promise<OpenedRows> {
    const opening = this.#opened();
    const former = this.#options.recovery?.former();
    if (!former) return opening;
    const opened = await Promise.race([opening, delay(PATIENCE_MS, undefined, { ref: false })]);
    if (opened) return opened;
    const part = Math.floor(former.progress * 100);
    throw new StoreBusy(`Imported rows are being moved into a new form (${part} % are); ask again in a minute.`);
  }

  async #open(): Promise<OpenedRows> {
    const opened = await openRows(this.#options);
    this.version = opened.version;
    this.#nextSeq = opened.nextSeq;
    if (opened.isRewriteDue) this.#rewriting.soon();
    return opened;
  }
}

function isFatal(error: unknown): boolean {
  return error instanceof Error && /FATAL|invalidated/i.test(error.message);
}
