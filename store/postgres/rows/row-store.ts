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
} from '../../rows-port.ts';
import { derivedTables } from '../../sql/derived-tables.ts';
import { digestOf, replaceRates, usesRates } from '../../sql/exchange-rates.ts';
import { rawTables } from '../../sql/raw-tables.ts';
import { rebuildTable } from '../../sql/rebuild.ts';
import type { Counts } from '../../sql/writing/counts.ts';
import { eraseUsers } from '../../sql/writing/erase-users.ts';
import { countRows, putRows } from '../../sql/writing/put.ts';
import { countStored, restoreRows } from '../../sql/writing/restore.ts';
import { TouchedTables } from '../../sql/writing/touched.ts';
import { withRetries } from '../attempts.ts';
import type { Database } from '../database.ts';
import type { PostgresRows, RowChanges } from '../rows-hook.ts';
import type { ClientSession } from '../session.ts';
import { beginReading, beginWriting, enterRows, leaveRows, RowConnection } from './connection.ts';
import { ImportLocks } from './import-lock.ts';
import { Questions } from './questions.ts';
import { StagedWrite, type Writing } from './staged-rows.ts';
import { LockedState } from './state.ts';
import { Vacuuming } from './vacuum.ts';

/** At most this many questions of a process are answered at once. */
const READERS = 2;

/** Imported rows in PostgreSQL, beside the records. Any number of processes use them. */
export class PostgresRowStore implements PostgresRows {
  /** The newest that this process knows of; `useRates` asks for that of all processes. */
  version = 0;
  readonly #database: Database;
  readonly #turns: ImportLocks;
  readonly #questions: Questions;
  /** For single queries, which should not wait for those that take long. */
  readonly #quick: Questions;
  readonly #vacuuming: Vacuuming;

  /** The change of rates that is under way. */
  #rating: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
    this.#turns = new ImportLocks(database);
    this.#questions = new Questions(database, READERS);
    this.#quick = new Questions(database, 1);
    this.#vacuuming = new Vacuuming(database);
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
    this.#rating ??= this.#change(async (writer) => {
      if (await usesRates(writer, digest)) return false;
      await replaceRates(writer, rates, digest);
      return true;
    }).finally(() => {
      this.#rating = undefined;
    });
    await this.#rating;
  }

  stage(batch: RowBatch): Promise<StagedWrite> {
    return this.#stage(
      (reader) => countRows(reader, batch),
      async (writer, { nextSeq }) => {
        const touched = new TouchedTables(writer);
        const counts = await putRows(writer, batch, { touched, nextSeq });
        await touched.renew();
        return counts;
      },
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
    const rates = options?.rates;
    if (!rates) return this.#questions.read(work, options);
    const digest = digestOf(rates);
    for (;;) {
      const read = await this.#questions.read(
        async (snapshot) => ((await usesRates(snapshot, digest)) ? { result: await work(snapshot) } : undefined),
        options,
      );
      if (read) return read.result;
      await this.useRates(rates);
    }
  }

  async rebuild(names?: readonly string[]): Promise<readonly Rebuilt[]> {
    const wanted = derivedTables.filter(({ name }) => names?.includes(name) ?? true);
    let rebuilt: Rebuilt[] = [];
    await this.#change(async (writer) => {
      rebuilt = [];
      for (const table of wanted) {
        const before = await digestOfTable(writer, table.name);
        await rebuildTable(writer, table);
        const { rows, digest } = await digestOfTable(writer, table.name);
        rebuilt.push({ table: table.name, rows, equal: digest === before.digest });
      }
      return true;
    });
    return rebuilt;
  }

  async check(): Promise<void> {
    const tables = [...Object.keys(rawTables), ...derivedTables.map(({ name }) => name)];
    await this.#database.patiently(async (session) => {
      await beginReading(session);
      const reader = new RowConnection(session);
      for (const table of tables) await digestOfTable(reader, table);
    });
  }

  async write(session: ClientSession, changes: RowChanges): Promise<() => Promise<void>> {
    const { erased } = changes;
    const staged = changes.staged as StagedWrite | undefined; // this store made it
    const writer = await enterRows(session);
    const state = await LockedState.lock(writer);
    let isChange = (await staged?.write(writer, state)) ?? false;
    if (erased.length > 0) {
      isChange = true;
      const touched = new TouchedTables(writer);
      await eraseUsers(writer, erased, touched);
      await touched.renew();
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

  /** Compares rows with those that are there, in the turn that lasts until they are committed or discarded. */
  async #stage(compare: (reader: RowConnection) => Promise<Counts>, write: Writing): Promise<StagedWrite> {
    const turn = await this.#turns.take();
    try {
      const { version } = await this.#stateNow(turn.session);
      const counts = await withRetries(() => inTransaction(turn.session, compare));
      return new StagedWrite({ turn, counts, version, write });
    } catch (error) {
      await turn.end();
      throw error;
    }
  }

  /** Changes rows in a transaction of its own, which may take its time. `work` says whether it changed anything. */
  async #change(work: (writer: RowConnection) => Promise<boolean>): Promise<void> {
    await this.#database.patiently(async (session) => {
      const version = await inTransaction(session, async (writer) => {
        const state = await LockedState.lock(writer);
        return (await work(writer)) ? state.advance() : state.version;
      });
      this.#know(version);
    });
  }

  /** What all processes agree on, in one small query. */
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
  const writer = await beginWriting(session);
  try {
    const result = await work(writer);
    await session.query({ text: 'commit' });
    return result;
  } catch (error) {
    await session.query({ text: 'rollback' }).catch(() => {}); // the server has done it where the connection is lost
    throw error;
  }
}

/** How many rows the table has, and a text that is the same for the same rows in any order. */
async function digestOfTable(connection: RowConnection, table: string): Promise<{ rows: number; digest: string }> {
  const [found] = await connection.query<{ rows: number; digest: string }>({
    name: `digest of ${table}`,
    sql: `select count(*) as rows, cast(sum(cast(hashtextextended(cast(t as text), 0) as numeric)) as text) as digest from ${table} as t`,
  });
  return { rows: found?.rows ?? 0, digest: found?.digest ?? '' };
}
