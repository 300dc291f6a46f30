import { statSync } from 'node:fs';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { refusalOf } from '../disk-full.ts';
import type { StoreDamaged } from '../errors.ts';
import { Mutex } from '../mutex.ts';
import { DelayedTask } from '../periodic-task.ts';
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
import { allTables, digestOfTable, rebuildTables } from '../sql/derived-tables.ts';
import { applyRates, digestOf, readByRates } from '../sql/exchange-rates.ts';
import type { Counts } from '../sql/writing/batch.ts';
import { type LoadedPart, loadRows } from '../sql/writing/load.ts';
import { eraseUsers, importRows, restoreRows } from '../sql/writing/put.ts';
import { copyTables, currentRowsFile, removeFile, rowsFile } from './files.ts';
import { closeRows, isFatal, type OpenedRows, RowsFile, type RowsOptions } from './rows-file.ts';
import { writeFact } from './schema.ts';
import { WriteTurn } from './write-turn.ts';

/** The sum of the hashes of the rows of a table `t`. */
const HASHES = 'sum(cast(hash(t) as hugeint))';
/** Soon enough for people, late enough that several removals share one copy. */
const REWRITE_MS = 1000;
const REWRITE_RETRY_MS = 10 * 60 * 1000;
const LONG_LOG = 16 * 1024 * 1024;

export interface StagedWrite extends StagedRows {
  readonly version: number;
  commit(entries: readonly AuditEntry[]): Promise<void>;
}

export class DuckRowStore implements RowStore {
  version = 0;
  readonly #options: RowsOptions;
  readonly #rows: RowsFile;
  readonly #turns = new Mutex();
  readonly #rewriting = new DelayedTask(() => this.#rewrite(), { delayMs: REWRITE_MS, retryMs: REWRITE_RETRY_MS });
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
    const counts = await turn.work((writer) => importRows(writer, batch, () => this.#nextSeq++));
    // Rows that change nothing need not be written, nor their audit entry be kept beside them.
    return stagedWrite(turn, counts, counts.created + counts.updated > 0);
  }

  async restore(kept: RawRows): Promise<StagedWrite> {
    const turn = await this.#write();
    const counts = await turn.work((writer) => restoreRows(writer, kept));
    this.#nextSeq = Math.max(this.#nextSeq, nextSeqAfter(kept));
    return stagedWrite(turn, counts, true);
  }

  async load(parts: Iterable<LoadedPart> | AsyncIterable<LoadedPart>): Promise<void> {
    const turn = await this.#write();
    await turn.work((writer) => loadRows(writer, parts, () => this.#nextSeq++));
    await turn.commit();
  }

  async erase(uids: readonly string[], entries: readonly AuditEntry[] = []): Promise<void> {
    const turn = await this.#write();
    await turn.work(async (writer) => {
      await eraseUsers(writer, uids);
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
    const isChange = await turn.work((writer) => applyRates(writer, rates));
    await (isChange ? turn.commit() : turn.discard());
    this.#rates = digest;
  }

  async rebuild(names?: readonly string[]): Promise<readonly Rebuilt[]> {
    const turn = await this.#write();
    const rebuilt = await turn.work((writer) => rebuildTables(writer, HASHES, names));
    await turn.commit();
    return rebuilt;
  }

  async check(): Promise<void> {
    await this.#rows.use(async ({ writer }) => {
      for (const table of allTables) await digestOfTable(writer, HASHES, table);
    });
  }

  async query<Row>(query: NamedQuery, parameters?: readonly Parameter[], options?: ReadOptions) {
    return this.#rows.use(({ quick }) => quick.read((snapshot) => snapshot.query<Row>(query, parameters), options));
  }

  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, options?: ReadOptions): Promise<Result> {
    const read: RowStore['read'] = (work) => this.#rows.use(({ readers }) => readers.read(work, options));
    if (!options?.rates) return read(work);
    const useRates = (rates: readonly ExchangeRate[]) => {
      this.#rates = undefined;
      return this.useRates(rates);
    };
    return readByRates({ read, useRates }, options.rates, work);
  }

  get error(): Error | undefined {
    return this.#rewriting.error;
  }

  /** What of the rows is damaged, as far as anybody came upon it, and how to recover. */
  get damage(): StoreDamaged | undefined {
    return this.#rows.damage;
  }

  async close(): Promise<void> {
    await this.#rewriting.close();
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
      // A start would take the newest file, which lacks what is written to the old one from now on.
      await this.#rows
        .replaceBy(file)
        .catch((cause) => removeFile(rowsFile(folder, file)).then(() => Promise.reject(cause)));
      await closeRows(old);
      await removeFile(rowsFile(folder, old.file));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`removed rows could not be taken out of the file: ${reason}`, { cause });
    } finally {
      endTurn();
    }
  }

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

function stagedWrite(turn: WriteTurn, { created, updated, unchanged }: Counts, isChange: boolean): StagedWrite {
  return {
    ...{ created, updated, unchanged },
    version: isChange ? turn.version : turn.version - 1,
    commit: (entries) => (isChange ? turn.commit(entries) : turn.discard()),
    discard: () => turn.discard(),
  };
}
