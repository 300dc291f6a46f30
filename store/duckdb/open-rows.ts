import type { AuditEntry } from '../../resources/audit-entry.ts';
import { isDiskFull, refusalOf } from '../disk-full.ts';
import { StoreDamaged } from '../errors.ts';
import { eraseUsers } from '../sql/writing/erase-users.ts';
import { TouchedTables } from '../sql/writing/touched.ts';
import type { Connection } from './connection.ts';
import { Engine } from './engine.ts';
import { currentRowsFile, removeOthers, rowsFile, temporaryFolder } from './files.ts';
import { Readers } from './readers.ts';
import { placeFile, removeFile } from './rewrite.ts';
import { prepareTables, readFact, writeFact } from './schema.ts';

/** What must be put right after a crash. */
export interface RowRecovery {
  /** The version that the rows had at least. A lower one says that rows are lost. */
  leastVersion(): number;
  /** Users whose rows were to be removed. */
  erased(): readonly string[];
  /** Adds those of the entries to the audit log that it lacks. */
  confirm(entries: readonly AuditEntry[]): Promise<void>;
  /** Called when all of that is done. */
  recovered(): void;
}

export interface RowsOptions {
  /** Where the files are. Absent: the rows are kept in memory. */
  readonly folder?: string;
  readonly memoryMb: number;
  readonly recovery?: RowRecovery;
}

export interface OpenedRows {
  /** The number of the file. */
  readonly file: number;
  readonly engine: Engine;
  readonly writer: Connection;
  /** For questions that take long. */
  readonly readers: Readers;
  /** For single queries, which should not wait for those. */
  readonly quick: Readers;
  /** As they are in the file. */
  readonly version: number;
  /** Rows of users were removed whose bytes may still be in the file. */
  readonly isRewriteDue: boolean;
  readonly nextSeq: number;
  /** Ends with the write that runs. It is never rejected. */
  writing: Promise<void>;
  /** The engine failed for good. */
  hasFailed: boolean;
}

/** At most this many questions are answered at once. */
export const READERS = 2;

/** Opens the file that counts, and puts right what a crash left. @throws StoreDamaged */
export async function openRows(options: RowsOptions): Promise<OpenedRows> {
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
export async function openFile(
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
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw isDiskFull(cause) ? refusalOf(cause, String(path), reason) : damaged(String(path), reason, cause);
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
      const touched = new TouchedTables(writer);
      await eraseUsers(writer, erased, touched);
      await touched.renew();
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

/** Waits for the questions that run. */
export async function closeRows({ engine, writer, readers, quick }: OpenedRows): Promise<void> {
  await Promise.all([readers.close(), quick.close()]);
  writer.close();
  engine.close();
}
