import pg from 'pg';
import { asStoreError, isConnectionLost } from './failures.ts';
import type { ClientSession, Statement } from './session.ts';
import { noteServerProcess, SERVER_PROCESS, type SilentConnections, streamOf } from './silent-connections.ts';

const IDLE_MS = 30_000;
/** A connection that was idle for longer is asked for an answer before it is used: a proxy may have forgotten it without a word. */
const CHECK_AFTER_MS = 1000;
export const QUICK_ANSWER_MS = 1500;

interface Connection {
  readonly generation: number;
  usedAt: number;
}

/** The connections of this process to one database. Those made before the latest `renew` are closed instead of used. */
export class ConnectionPool {
  readonly #pool: pg.Pool;
  readonly #connections = new WeakMap<pg.PoolClient, Connection>();
  #generation = 0;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
    this.#pool.on('connect', (client) => {
      this.#connections.set(client, { generation: this.#generation, usedAt: performance.now() });
    });
  }

  async connect(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if (this.#isCurrent(client) && (await this.#answers(client))) return client;
      client.release(true);
    }
  }

  release(client: pg.PoolClient, isLost: boolean): void {
    const connection = this.#connections.get(client);
    if (connection) connection.usedAt = performance.now();
    client.release(isLost || !this.#isCurrent(client));
  }

  renew(): void {
    this.#generation += 1;
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  #isCurrent(client: pg.PoolClient): boolean {
    return this.#connections.get(client)?.generation === this.#generation;
  }

  async #answers(client: pg.PoolClient): Promise<boolean> {
    const usedAt = this.#connections.get(client)?.usedAt ?? 0;
    if (performance.now() - usedAt < CHECK_AFTER_MS) return true;
    try {
      await client.query(QUESTION);
      return true;
    } catch (error) {
      // What befell this one befell all that were idle as long.
      if (isConnectionLost(error)) this.renew();
      return false;
    }
  }
}

/** `pg` reads the time-out of a statement, which its types do not know. */
export const QUESTION: pg.QueryConfig & { readonly query_timeout: number } = {
  text: 'select 1',
  query_timeout: QUICK_ANSWER_MS,
};

/**
 * What every connection is told first: a pooler before the database refuses limits given at the start of a connection. A limit is in milliseconds, 0 is
 * none. Compiling (`jit`) takes longer than it saves. The check ends statements of connections whose process was killed: they hold locks that a
 * start waits for.
 */
export async function prepareConnection(client: pg.ClientBase, limitMs: number): Promise<void> {
  const limits = `set statement_timeout = ${limitMs}; set idle_in_transaction_session_timeout = ${limitMs}`;
  // A text of several statements has one result for each, which its types do not know.
  const results = (await client.query(`${limits}; ${SERVER_PROCESS}`)) as unknown as pg.QueryResult[];
  noteServerProcess(client, results.at(-1)?.rows[0]);
  // Each by itself: the server may be on a system that cannot.
  for (const setting of ['jit = off', "client_connection_check_interval = '2s'"])
    await client.query({ ...QUESTION, text: `set ${setting}` }).catch(() => {});
}

/** How long the other end of a connection may take to hear that it ends. */
const GOODBYE_MS = 1000;

/** Is cut off when it ends where its other end does not hear of that: `pg` would wait for ever. */
export class CuttableClient extends pg.Client {
  override end(): Promise<void>;
  override end(done: (error: Error) => void): void;
  override end(done?: (error: Error) => void): Promise<void> | void {
    const late = setTimeout(() => streamOf(this).destroy(), GOODBYE_MS).unref();
    this.once('end', () => clearTimeout(late));
    return done ? super.end(done) : super.end();
  }
}

export function createPool(config: pg.PoolConfig, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({ ...config, Client: CuttableClient, idleTimeoutMillis: IDLE_MS, allowExitOnIdle: true });
  // One that is lost while nobody uses it. The pool has removed it already.
  pool.on('error', onError);
  // One that is lost before its caller has it.
  pool.on('connect', (client) => client.on('error', () => {}));
  // graphile-worker gives a connection back twice where it is lost just as it begins to listen and the workers end.
  const connect = pool.connect.bind(pool);
  const withCallback = (callback: Connected) =>
    connect((error, client, release) => callback(error, client, once(release ?? nothing)));
  pool.connect = ((callback?: Connected) => (callback ? withCallback(callback) : connect())) as pg.Pool['connect'];
  return pool;
}

/** Where no connection came, `pg` gives nothing to call. */
const nothing = () => {};

type Connected = Parameters<pg.Pool['connect']>[0];

function once<Args extends readonly unknown[]>(work: (...args: Args) => void): (...args: Args) => void {
  let isDone = false;
  return (...args) => {
    if (!isDone) work(...args);
    isDone = true;
  };
}

const asTexts: pg.CustomTypesConfig = { getTypeParser: () => (value: string) => value };

export class ClientStatements implements ClientSession {
  readonly #client: pg.ClientBase;
  readonly #silent: SilentConnections;
  readonly #onFailure: (cause: unknown) => void;
  isLost = false;
  /** Whether its last statement failed. It may be in an aborted transaction, in which every statement fails. */
  #hasFailed = false;

  constructor(client: pg.ClientBase, silent: SilentConnections, onFailure: (cause: unknown) => void) {
    this.#client = client;
    this.#silent = silent;
    this.#onFailure = onFailure;
  }

  async query<Row extends object = Record<string, unknown>>(statement: Statement) {
    const result = await this.#guarded(() => this.#client.query<Row>(configOf(statement)));
    // A text of several statements has one result for each.
    return Array.isArray(result) ? (result.at(-1)?.rows ?? []) : result.rows;
  }

  /** Leaves a transaction that failed. Else the next work on the connection would only hear of it. */
  async leave(): Promise<void> {
    if (this.#hasFailed && !this.isLost) await this.query({ text: 'rollback' }).catch(() => {});
    if (this.#hasFailed) this.isLost = true;
  }

  answer(statement: Statement) {
    const config = { ...configOf(statement), rowMode: 'array' as const, types: asTexts };
    return this.#guarded(() => this.#client.query<(string | null)[]>(config));
  }

  async #guarded<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      const result = await this.#silent.watch(this.#client, run);
      this.#hasFailed = false;
      return result;
    } catch (cause) {
      this.#hasFailed = true;
      if (isConnectionLost(cause)) this.isLost = true;
      this.#onFailure(cause);
      throw asStoreError(cause, 'the database did not answer');
    }
  }
}

const configOf = ({ name, text, values, isQuick, answerMs }: Statement) => ({
  text,
  ...(name && { name }),
  ...(values && { values: [...values] }),
  // `pg` reads it, which its types do not know.
  ...(isQuick && { query_timeout: QUICK_ANSWER_MS }),
  ...(answerMs && { query_timeout: answerMs }),
});
