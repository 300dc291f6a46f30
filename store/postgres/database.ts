import pg from 'pg';
import { StoreUnavailable } from '../errors.ts';
import { withRetries } from './attempts.ts';
import { asStoreError, isConnectionLost, isSerializationFailure } from './failures.ts';

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database` with the options of libpq that `pg` knows. */
  readonly url: string;
  /** The most connections of this process. Callers wait in turn for a free one. */
  readonly poolSize?: number | undefined;
  /** Longer statements are ended by the server. */
  readonly statementTimeoutMs?: number | undefined;
}

/** One connection, which runs one statement at a time. */
export interface Session {
  query<Row extends object = Record<string, unknown>>(statement: Statement): Promise<readonly Row[]>;
}

/** One connection for a piece of work. */
export interface ClientSession extends Session {
  /** The result with the types of its columns, each row a list of texts and nulls. */
  answer(statement: Statement): Promise<pg.QueryArrayResult<(string | null)[]>>;
}

export interface Statement {
  /** Statements with a name are planned once per connection. The same name always has the same text. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

const APPLICATION = 'agent-admin';
const CONNECT_TIMEOUT_MS = 5000;
const IDLE_MS = 30_000;
/** How much longer than the server a connection waits for an answer, before it counts as lost. */
const ANSWER_MARGIN_MS = 5000;

/** The pool of connections to one database. Failures of connections are StoreUnavailable, and the next call tries again. */
export class Database implements Session {
  readonly #pool: pg.Pool;
  readonly #config: pg.PoolConfig;
  /** The failure of the latest connection, until one succeeds. */
  #error: Error | undefined;
  #closing: Promise<void> | undefined;

  constructor({ url, poolSize = 16, statementTimeoutMs = 30_000 }: DatabaseOptions) {
    this.#config = {
      connectionString: url,
      application_name: APPLICATION,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      query_timeout: statementTimeoutMs + ANSWER_MARGIN_MS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    };
    this.#pool = new pg.Pool({ ...this.#config, max: poolSize, idleTimeoutMillis: IDLE_MS, allowExitOnIdle: true });
    // One that is lost before its caller has it would end the process.
    this.#pool.on('connect', (client) => {
      client.on('error', () => {});
    });
    // A connection that is lost while nobody uses it. The pool has removed it already.
    this.#pool.on('error', (error) => {
      this.#error = error;
    });
  }

  get error(): Error | undefined {
    return this.#error;
  }

  /**
   * Runs one statement, a transaction of its own, on any connection. Where the connection was lost, it runs on another: use it for what may
   * run twice.
   */
  query<Row extends object = Record<string, unknown>>(statement: Statement): Promise<readonly Row[]> {
    return withRetries(() => this.#evenIfLost<Row>(statement), isSerializationFailure);
  }

  async #evenIfLost<Row extends object>(statement: Statement): Promise<readonly Row[]> {
    try {
      return await this.#once<Row>(statement);
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || !isConnectionLost(error.cause)) throw error;
      return this.#once<Row>(statement);
    }
  }

  #once<Row extends object>(statement: Statement): Promise<readonly Row[]> {
    return this.use((session) => session.query<Row>(statement));
  }

  /** Gives the work one connection. Work that throws because of it has it closed, other work gives it back. */
  async use<Result>(work: (session: ClientSession) => Promise<Result>): Promise<Result> {
    const client = await this.#connect();
    const session = new PoolSession(client);
    // Else an error while no statement runs would end the process.
    const onError = () => {
      session.isLost = true;
    };
    client.on('error', onError);
    try {
      return await work(session);
    } finally {
      client.off('error', onError);
      client.release(session.isLost);
    }
  }

  /** A connection beside the pool, for what holds one for long. The caller connects and ends it, and hears of its errors. */
  client(over: pg.ClientConfig = {}): pg.Client {
    return new pg.Client({ ...this.#config, ...over });
  }

  /** A pool beside this one, for a library that asks for one. Connections that are lost while nobody uses them leave it by themselves. */
  pool(size: number): pg.Pool {
    const pool = new pg.Pool({ ...this.#config, max: size, idleTimeoutMillis: IDLE_MS, allowExitOnIdle: true });
    pool.on('error', () => {});
    pool.on('connect', (client) => client.on('error', () => {}));
    return pool;
  }

  /**
   * Gives the work a connection of its own whose statements may take as long as they need. Work that another transaction was in the way of
   * runs again, on another connection.
   */
  patiently<Result>(work: (session: ClientSession) => Promise<Result>): Promise<Result> {
    return withRetries(() => this.#onOwnConnection(work));
  }

  async #onOwnConnection<Result>(work: (session: ClientSession) => Promise<Result>): Promise<Result> {
    const client = this.client({ statement_timeout: 0, query_timeout: 0, idle_in_transaction_session_timeout: 0 });
    client.on('error', () => {}); // the statement that runs then fails too
    try {
      await client.connect();
    } catch (cause) {
      throw asStoreError(cause, 'the database cannot be reached');
    }
    try {
      return await work(new PoolSession(client));
    } finally {
      await client.end().catch(() => {});
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#pool.end();
    return this.#closing;
  }

  async #connect(): Promise<pg.PoolClient> {
    if (this.#closing) throw new StoreUnavailable('the store is closed');
    try {
      const client = await this.#pool.connect();
      this.#error = undefined;
      return client;
    } catch (cause) {
      const error = asStoreError(cause, 'the database cannot be reached');
      this.#error = error;
      throw error;
    }
  }
}

const asTexts: pg.CustomTypesConfig = { getTypeParser: () => (value: string) => value };

class PoolSession implements ClientSession {
  readonly #client: pg.ClientBase;
  isLost = false;

  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  async query<Row extends object = Record<string, unknown>>(statement: Statement) {
    const result = await this.#guarded(() => this.#client.query<Row>(configOf(statement)));
    // A text of several statements has one result for each.
    return Array.isArray(result) ? (result.at(-1)?.rows ?? []) : result.rows;
  }

  answer(statement: Statement) {
    const config = { ...configOf(statement), rowMode: 'array' as const, types: asTexts };
    return this.#guarded(() => this.#client.query<(string | null)[]>(config));
  }

  async #guarded<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run();
    } catch (cause) {
      if (isConnectionLost(cause)) this.isLost = true;
      throw asStoreError(cause, 'the database did not answer');
    }
  }
}

const configOf = ({ name, text, values }: Statement) => ({
  text,
  ...(name && { name }),
  ...(values && { values: [...values] }),
});
