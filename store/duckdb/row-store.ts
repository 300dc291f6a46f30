import { StoreUnavailable } from '../errors.ts';
import type { ExchangeRate, NamedQuery, Parameter, ReadOptions, RowSnapshot, RowStore } from '../rows-port.ts';
import { Turns } from '../turns.ts';
import type { Connection } from './connection.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { digestOf, replaceRates, usesRates } from './exchange-rates.ts';
import { Readers } from './readers.ts';
import { createTables } from './schema.ts';

/** At most this many questions are answered at once. */
const READERS = 2;

interface Opened {
  readonly engine: Engine;
  readonly writer: Connection;
  readonly readers: Readers;
}

/** Imported rows in DuckDB, in one file. It is opened at the first need. */
export class DuckRowStore implements RowStore {
  version = 0;
  readonly #options: EngineOptions;
  #opening: Promise<Opened> | undefined;
  #isClosed = false;
  /** Writes run one at a time. */
  readonly #writing = new Turns();
  /** The digest of the exchange rates in use, as far as known. */
  #rates: string | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  async ready(): Promise<void> {
    await this.#opened();
  }

  async query<Row>(query: NamedQuery, parameters?: readonly Parameter[], options?: ReadOptions) {
    return this.read((snapshot) => snapshot.query<Row>(query, parameters), options);
  }

  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, options?: ReadOptions): Promise<Result> {
    const { readers } = await this.#opened();
    const rates = options?.rates;
    if (!rates) return readers.read(work, options);
    const digest = digestOf(rates);
    for (;;) {
      const read = await readers.read(
        async (snapshot) => ((await usesRates(snapshot, digest)) ? { result: await work(snapshot) } : undefined),
        options,
      );
      if (read) return read.result;
      await this.useRates(rates);
    }
  }

  async useRates(rates: readonly ExchangeRate[]): Promise<void> {
    const digest = digestOf(rates);
    if (digest === this.#rates) return;
    const { writer } = await this.#opened();
    const endTurn = await this.#writing.take();
    try {
      if (!(await usesRates(writer, digest))) {
        await writer.transaction(() => replaceRates(writer, rates, digest));
        this.version += 1;
      }
      this.#rates = digest;
    } finally {
      endTurn();
    }
  }

  /** Lets running questions end, and closes the file. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opening?.catch(() => undefined);
    if (!opened) return;
    await this.#writing.take();
    await opened.readers.close();
    opened.writer.close();
    opened.engine.close();
  }

  #opened(): Promise<Opened> {
    if (this.#isClosed) throw new StoreUnavailable('the store is closed');
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<Opened> {
    const engine = await Engine.open(this.#options);
    const writer = await engine.connect();
    await createTables(writer);
    const readers = new Readers(await Promise.all(Array.from({ length: READERS }, () => engine.connect())));
    return { engine, writer, readers };
  }
}
