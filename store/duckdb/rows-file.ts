import type { AuditEntry } from '../../resources/audit-entry.ts';
import { isDiskFull, lacksFiles, noFileError, refusalOf } from '../disk-full.ts';
import { StoreDamaged, StoreUnavailable } from '../errors.ts';
import { eraseUsers } from '../sql/writing/put.ts';
import type { Connection } from './connection.ts';
import { Engine, Readers } from './engine.ts';
import { currentRowsFile, placeFile, removeFile, removeOthers, rowsFile, temporaryFolder } from './files.ts';
import { prepareTables, readFact, writeFact } from './schema.ts';

interface RowRecovery {
  /** The version that the rows had at least. A lower one says that rows are lost. */
  leastVersion(): number;
  erased(): readonly string[];
  confirm(entries: readonly AuditEntry[]): Promise<void>;
  recovered(): void;
}

export interface RowsOptions {
  /** Where the files are. Absent: the rows are kept in memory. */
  readonly folder?: string;
  readonly memoryMb: number;
  readonly recovery?: RowRecovery;
}

export interface OpenedRows {
  readonly file: number;
  readonly engine: Engine;
  readonly writer: Connection;
  readonly readers: Readers;
  /** For single queries, which should not wait for those. */
  readonly quick: Readers;
  readonly version: number;
  readonly isRewriteDue: boolean;
  readonly nextSeq: number;
  /** Ends with the write that runs. It is never rejected. */
  writing: Promise<void>;
  /** The engine failed for good. */
  hasFailed: boolean;
}

export const READERS = 2;

/** Opens the file that counts, and puts right what a crash left. @throws StoreDamaged */
async function openRows(options: RowsOptions): Promise<OpenedRows> {
  const { folder, recovery } = options;
  const file = folder === undefined ? 1 : Math.max(1, currentRowsFile(folder));
  if (folder !== undefined) {
    if (currentRowsFile(folder) === 0) await makeFile(options, folder);
    removeOthers(folder, file);
  }
  return openFile(options, file, async (writer) => {
    if (folder !== undefined && recovery) await recover(writer, recovery, rowsFile(folder, file));
  });
}

/** Opens the file with this number, and calls `prepare` before anybody else uses it. */
async function openFile(
  { folder, memoryMb }: RowsOptions,
  file: number,
  prepare?: (writer: Connection) => Promise<void>,
): Promise<OpenedRows> {
  const path = folder && rowsFile(folder, file);
  const engine = await openEngine(path, () => folder && temporaryFolder(folder, file), memoryMb);
  const connections: Connection[] = [];
  try {
    for (let count = 0; count < READERS + 2; count += 1) connections.push(await engine.connect());
    const [writer, first, ...others] = connections as [Connection, Connection, ...Connection[]]; // as many as above
    await prepareTables(writer);
    await prepare?.(writer);
    const readers = new Readers(others);
    const quick = new Readers([first]);
    const state = { writing: Promise.resolve(), hasFailed: false };
    return { file, engine, writer, readers, quick, ...(await factsOf(writer)), ...state };
  } catch (error) {
    // The engine stays open, and may still write to the file, while a connection is.
    for (const connection of connections) connection.close();
    engine.close();
    throw error;
  }
}

async function openEngine(path: string | undefined, temporary: () => string | undefined, memoryMb: number) {
  try {
    return await Engine.open({ path, temporary: temporary(), memoryMb });
  } catch (cause) {
    if (cause instanceof StoreUnavailable) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw isDiskFull(cause) || lacksFiles(cause)
      ? refusalOf(cause, String(path), reason)
      : damaged(String(path), reason, cause);
  }
}

/** Makes the first file, with empty tables. It appears complete or not at all. */
async function makeFile({ memoryMb, recovery }: RowsOptions, folder: string): Promise<void> {
  const path = rowsFile(folder, 1);
  const least = recovery?.leastVersion() ?? 0;
  if (least > 0) throw damaged(path, `the file is missing, in which the imported rows had version ${least}`);
  const draft = `${path}.tmp`;
  await removeFile(draft);
  try {
    const engine = await Engine.open({ path: draft, temporary: undefined, memoryMb });
    const writer = await engine.connect();
    try {
      await prepareTables(writer);
      await writer.runOnce('checkpoint');
    } finally {
      writer.close();
      engine.close();
    }
    await placeFile(draft, path);
  } catch (cause) {
    await removeFile(draft);
    throw refusalOf(cause, path, 'the file of imported rows could not be made');
  }
}

async function factsOf(writer: Connection) {
  const [last] = await writer.query<{ seq: number | null }>({
    name: 'last arrival',
    sql: 'select max(seq) as seq from (select seq from events union all select seq from visits) as arrived',
  });
  return {
    version: Number((await readFact(writer, 'version')) ?? 0),
    isRewriteDue: (await readFact(writer, 'rewrite')) !== undefined,
    nextSeq: (last?.seq ?? -1) + 1,
  };
}

async function recover(writer: Connection, recovery: RowRecovery, path: string): Promise<void> {
  const version = Number((await readFact(writer, 'version')) ?? 0);
  const least = recovery.leastVersion();
  if (version < least)
    throw damaged(path, `the imported rows have version ${version}, but version ${least} was there already`);
  const entries = await writer.query<{ entry: string }>({ name: 'unconfirmed', sql: 'select entry from unconfirmed' });
  await recovery.confirm(entries.map(({ entry }) => JSON.parse(entry) as AuditEntry)); // `WriteTurn` wrote them
  const erased = recovery.erased();
  if (erased.length > 0) {
    await writer.transaction(async () => {
      await eraseUsers(writer, erased);
      await writeFact(writer, 'rewrite', 'due');
      await writeFact(writer, 'version', String(version + 1));
    });
  }
  recovery.recovered();
}

export function damaged(path: string, what: string, cause?: unknown): StoreDamaged {
  return new StoreDamaged(`${path}: ${what}. Stop the server and restore a backup made with \`npm run backup\`.`, {
    cause,
  });
}

export async function closeRows({ engine, writer, readers, quick }: OpenedRows): Promise<void> {
  await Promise.all([readers.close(), quick.close()]);
  writer.close();
  engine.close();
}

/** The file of imported rows: opened at the first need, and again after an error from which the engine does not recover by itself. */
export class RowsFile {
  readonly #options: RowsOptions;
  readonly #onOpen: (opened: OpenedRows) => void;
  #opening: Promise<OpenedRows> | undefined;
  #isClosed = false;
  /** What was found damaged since the file was opened, or why it cannot be opened. */
  damage: StoreDamaged | undefined;

  constructor(options: RowsOptions, onOpen: (opened: OpenedRows) => void) {
    this.#options = options;
    this.#onOpen = onOpen;
  }

  get(): Promise<OpenedRows> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the store is closed'));
    this.#opening ??= this.#begin(Promise.resolve());
    return this.#opening;
  }

  /** Runs the work, which may call others. @throws StoreUnavailable if the engine has failed, which is opened again then */
  async use<Result>(work: (opened: OpenedRows) => Promise<Result>): Promise<Result> {
    const opened = await this.get();
    try {
      return await work(opened);
    } catch (cause) {
      this.note(cause);
      if (!isFatal(cause)) throw cause;
      this.reopen(opened);
      throw new StoreUnavailable('the engine of imported rows failed and is opened again', { cause });
    }
  }

  /** Opens the file again, once nobody uses the engine that has failed. */
  reopen(failed: OpenedRows): void {
    if (failed.hasFailed || this.#isClosed) return;
    failed.hasFailed = true;
    this.#opening = this.#begin(failed.writing.then(() => closeRows(failed)).catch(() => {}));
  }

  /** If the file cannot be opened, the one before stays in use. */
  async replaceBy(file: number): Promise<void> {
    const opened = await openFile(this.#options, file);
    this.#opening = Promise.resolve(opened);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opening?.catch(() => undefined);
    if (opened) await closeRows(opened);
  }

  note(error: unknown): void {
    if (error instanceof StoreDamaged) this.damage = error;
    else if (error instanceof Error) this.note(error.cause);
  }

  #begin(before: Promise<void>): Promise<OpenedRows> {
    const opening = before.then(async () => {
      const opened = await openRows(this.#options).catch((cause) => {
        throw lacksFiles(cause) ? noFileError(cause) : cause;
      });
      this.#onOpen(opened);
      return opened;
    });
    opening.catch((error) => {
      this.note(error);
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }
}

export function isFatal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /FATAL|invalidated/i.test(error.message) || isFatal(error.cause);
}
