import { DelayedTask } from '../../periodic-task.ts';
import { nextSeqAfter } from '../../rows/table-rows.ts';
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
} from '../../rows-port.ts';
import { allTables, digestOfTable, rebuildTables } from '../../sql/derived-tables.ts';
import { applyRates, digestOf, readByRates } from '../../sql/exchange-rates.ts';
import type { Counts } from '../../sql/writing/batch.ts';
import { countRows, countStored, eraseUsers, importRows, restoreRows } from '../../sql/writing/put.ts';
import type { Database } from '../database.ts';
import { withRetries } from '../failures.ts';
import type { ClientSession } from '../session.ts';
import { beginReading, beginWriting, enterRows, leaveRows, Questions, RowConnection } from './connection.ts';
import { ImportLocks, type StagedWrite, stagedWrite, type Writing } from './staged-rows.ts';
import { lockState } from './state.ts';

interface RowChanges {
  readonly staged: StagedRows | undefined;
  readonly erased: readonly string[];
}

/** The sum of the hashes of the rows of a table `t`. */
const HASHES = 'sum(cast(hashtextextended(cast(t as text), 0) as numeric))';
const READERS = 2;
/** Soon enough for people, late enough that several removals share one round. */
const VACUUM_MS = 1000;

export class PostgresRowStore implements RowStore {
  /** The newest that this process knows of; `useRates` asks for that of all processes. */
  version = 0;
  readonly #database: Database;
  readonly #turns: ImportLocks;
  readonly #questions: Questions;
  /** For single queries, which should not wait for those that take long. */
  readonly #quick: Questions;
  /** The database itself clears the space only where many rows of a table went. Where it fails, the database does it some day. */
  readonly #vacuuming: DelayedTask;

  #rating: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
    this.#turns = new ImportLocks(database);
    this.#questions = new Questions(database, READERS);
    this.#quick = new Questions(database, 1);
    const vacuum = { text: `vacuum (skip_locked) ${allTables.map((name) => `imported.${name}`).join(', ')}` };
    const work = async () => void (await database.patiently((session) => session.query(vacuum)));
    this.#vacuuming = new DelayedTask(work, { delayMs: VACUUM_MS });
  }

  async wake(): Promise<void> {
    await this.ready();
  }

  async ready(): Promise<void> {
    await this.#stateNow();
  }

  async useRates(rates: readonly ExchangeRate[]): Promise<void> {
    const digest = digestOf(rates);
    if ((await this.#stateNow()).rates === digest) return;
    // Queries that arrive in the meantime wait for the same change.
    this.#rating ??= this.#change((writer) => applyRates(writer, rates)).finally(() => {
      this.#rating = undefined;
    });
    await this.#rating;
  }

  stage(batch: RowBatch): Promise<StagedWrite> {
    return this.#stage(
      (reader) => countRows(reader, batch),
      (writer, { nextSeq }) => importRows(writer, batch, nextSeq),
    );
  }

  restore(kept: RawRows): Promise<StagedWrite> {
    return this.#stage(
      (reader) => countStored(reader, kept),
      async (writer, state) => {
        state.seqFrom(nextSeqAfter(kept));
        return restoreRows(writer, kept);
      },
    );
  }

  async query<Row>(query: NamedQuery, parameters?: readonly Parameter[], options?: ReadOptions) {
    return this.#quick.read((snapshot) => snapshot.query<Row>(query, parameters), options);
  }

  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, options?: ReadOptions): Promise<Result> {
    const read: RowStore['read'] = (work) => this.#questions.read(work, options);
    if (!options?.rates) return read(work);
    return readByRates({ read, useRates: (rates) => this.useRates(rates) }, options.rates, work);
  }

  async rebuild(names?: readonly string[]): Promise<readonly Rebuilt[]> {
    let rebuilt: readonly Rebuilt[] = [];
    await this.#change(async (writer) => {
      rebuilt = await rebuildTables(writer, HASHES, names);
      return true;
    });
    return rebuilt;
  }

  async check(): Promise<void> {
    await this.#database.patiently(async (session) => {
      await beginReading(session);
      const reader = new RowConnection(session);
      for (const table of allTables) await digestOfTable(reader, HASHES, table);
    });
  }

  async write(session: ClientSession, changes: RowChanges): Promise<() => Promise<void>> {
    const { erased } = changes;
    const staged = changes.staged as StagedWrite | undefined; // this store made it
    const writer = await enterRows(session);
    const state = await lockState(writer);
    let isChange = (await staged?.write(writer, state)) ?? false;
    if (erased.length > 0) {
      isChange = true;
      await eraseUsers(writer, erased);
    }
    const version = isChange ? await state.advance() : state.version;
    await leaveRows(session);
    return async () => {
      this.#know(version);
      if (erased.length > 0) this.#vacuuming.soon();
      await staged?.discard();
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#questions.idle(), this.#quick.idle(), this.#vacuuming.close()]);
  }

  async #stage(compare: (reader: RowConnection) => Promise<Counts>, write: Writing): Promise<StagedWrite> {
    const turn = await this.#turns.take();
    try {
      const { version } = await this.#stateNow(turn.session);
      const counts = await withRetries(() => inTransaction(turn.session, compare));
      return stagedWrite({ turn, counts, version, write });
    } catch (error) {
      await turn.end();
      throw error;
    }
  }

  /** Changes rows in a transaction of its own, which may take its time. `work` says whether it changed anything. */
  async #change(work: (writer: RowConnection) => Promise<boolean>): Promise<void> {
    await this.#database.patiently(async (session) => {
      const version = await inTransaction(session, async (writer) => {
        const state = await lockState(writer);
        return (await work(writer)) ? state.advance() : state.version;
      });
      this.#know(version);
    });
  }

  async #stateNow(session: Pick<ClientSession, 'query'> = this.#database) {
    const text = 'select version, (select digest from imported.rates_in_use) as rates from imported.state';
    const [found] = await session.query<{ version: string; rates: string | null }>({ text });
    const version = Number(found?.version ?? 0);
    this.#know(version);
    return { version, rates: found?.rates };
  }

  /** Answers of `stateNow` can come in another order than they were asked for. */
  #know(version: number): void {
    this.version = Math.max(this.version, version);
  }
}

async function inTransaction<Result>(
  session: ClientSession,
  work: (writer: RowConnection) => Promise<Result>,
): Promise<Result> {
  try {
    const result = await work(await beginWriting(session));
    await session.query({ text: 'commit' });
    return result;
  } catch (error) {
    await session.query({ text: 'rollback' }).catch(() => {}); // the server has done it where the connection is lost
    throw error;
  }
}
