import type pg from 'pg';
import { StoreUnavailable } from '../errors.ts';
import {
  ClientStatements,
  ConnectionPool,
  CuttableClient,
  createPool,
  prepareConnection,
  QUESTION,
  QUICK_ANSWER_MS,
} from './connection-pool.ts';
import {
  asConnectError,
  isAnswerLate,
  isConnectionLost,
  isLockLate,
  isReadOnlyFailure,
  isSerializationFailure,
  StoreReadOnly,
  withRetries,
} from './failures.ts';
import type { ClientSession, Session, Statement } from './session.ts';
import { type AskServer, SERVER_PROCESSES, type ServerProcess, SilentConnections } from './silent-connections.ts';

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database` with the options of libpq that `pg` knows. */
  readonly url: string;
  readonly poolSize?: number | undefined;
  readonly statementTimeoutMs?: number | undefined;
}

const APPLICATION = 'agent-admin';
const CONNECT_TIMEOUT_MS = 5000;
const ANSWER_MARGIN_MS = 5000;
/** TCP asks a silent far end whether it is there, also so that a NAT between does not forget the connection. */
const KEEP_ALIVE_MS = 10_000;
/** How long a quick statement may take in all, on a second connection too. */
const QUICK_MS = 3500;

/** A lock that others have is told well before a connection counts as silent. */
const QUICK_LOCK = `set local lock_timeout = '500ms'`;
const PATIENT_LOCK = 'set local lock_timeout to default';

interface Begin {
  readonly begin: string;
  readonly lock: string;
}

/** The pool of connections to one database. Failures of connections are StoreUnavailable, and the next call tries again. */
export class Database implements Session {
  readonly #pool: ConnectionPool;
  readonly #config: pg.PoolConfig;
  readonly #statementTimeoutMs: number;
  #error: Error | undefined;
  #isReadOnly = false;
  readonly #doubters = new Set<() => void>();
  #closing: Promise<void> | undefined;
  #asking: Promise<boolean> | undefined;
  readonly #silent = new SilentConnections((...asked) => this.#askOf(asked));

  constructor({ url, poolSize = 16, statementTimeoutMs = 30_000 }: DatabaseOptions) {
    this.#config = {
      connectionString: url,
      application_name: APPLICATION,
      query_timeout: statementTimeoutMs + ANSWER_MARGIN_MS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    };
    this.#statementTimeoutMs = statementTimeoutMs;
    this.#pool = new ConnectionPool(
      this.pool(poolSize, (error) => {
        this.#error = error;
      }),
    );
  }

  get error(): Error | undefined {
    return this.#isReadOnly ? new StoreReadOnly() : this.#error;
  }

  get isReadOnly(): boolean {
    return this.#isReadOnly;
  }

  /** What a new connection found out. Connections from before the change may lead to another server, and are replaced. */
  noteReadOnly(isReadOnly: boolean): void {
    if (isReadOnly === this.#isReadOnly) return;
    this.#isReadOnly = isReadOnly;
    this.#pool.renew();
  }

  /** Calls the listener where a statement was refused as a write, whatever is known: a look at the database by a new connection is due. */
  onRefusedWrite(listener: () => void): void {
    this.#doubters.add(listener);
  }

  /** Runs one statement, a transaction of its own, again if the connection was lost: use it for what may run twice. */
  query<Row extends object = Record<string, unknown>>(statement: Statement): Promise<readonly Row[]> {
    const answer = withRetries(() => this.#evenIfLost<Row>(statement), isSerializationFailure);
    return statement.isQuick ? within(answer, QUICK_MS) : answer;
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

  /** Gives the work a connection with a transaction begun and the lock taken; once another one if the connection was lost before. */
  async useBegun<Result>({ begin, lock }: Begin, work: (session: ClientSession) => Promise<Result>): Promise<Result> {
    const first = await this.use(async (session) => {
      const isBegun = await this.#begin(session, { begin, lock });
      return isBegun ? { result: await work(session) } : undefined;
    });
    if (first) return first.result;
    return this.use(async (session) => {
      await session.query({ text: `${begin}; ${lock}` });
      return work(session);
    });
  }

  /** Whether it has begun: not where the connection was lost. Only where others have the lock, it takes a second message. */
  async #begin(session: ClientStatements, { begin, lock }: Begin): Promise<boolean> {
    const answer = session.query({ text: `${begin}; ${QUICK_LOCK}; ${lock}; ${PATIENT_LOCK}` });
    if (await this.#isForgotten(answer)) {
      session.isLost = true;
      this.#pool.renew();
      return false;
    }
    try {
      await answer;
    } catch (error) {
      if (session.isLost) return false;
      if (!(error instanceof StoreUnavailable) || !isLockLate(error.cause)) throw error;
      await session.query({ text: `rollback; ${begin}; ${lock}` });
    }
    return true;
  }

  /** Whether the answer does not come while a new connection is answered. A server that is only slow answers neither, and is waited for. */
  async #isForgotten(answer: Promise<unknown>): Promise<boolean> {
    const isAnswered = answer.then(
      () => true,
      () => true,
    );
    while (!(await orLate(isAnswered, QUICK_ANSWER_MS))) {
      if (await Promise.race([isAnswered.then(() => false), this.#answersAnew()])) return true;
    }
    return false;
  }

  #answersAnew(): Promise<boolean> {
    this.#asking ??= this.#askAnew().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #askAnew(): Promise<boolean> {
    return (await this.#answerAnew(QUESTION)) !== undefined;
  }

  async #askOf(values: Parameters<AskServer>): ReturnType<AskServer> {
    const answer = await this.#answerAnew<ServerProcess>({
      ...QUESTION,
      text: SERVER_PROCESSES,
      values,
    });
    return answer && new Map(answer.rows.map((each) => [each.pid, each]));
  }

  /** By a new connection. Undefined where it does not answer. */
  async #answerAnew<Row extends object>(question: pg.QueryConfig): Promise<pg.QueryResult<Row> | undefined> {
    const client = this.client();
    client.on('error', () => {}); // the question fails too
    try {
      await client.connect();
      return await client.query<Row>(question);
    } catch {
      return undefined;
    } finally {
      void client.end().catch(() => {});
    }
  }

  /** Gives the work one connection. Work that throws because of it has it closed, other work gives it back. */
  async use<Result>(work: (session: ClientStatements) => Promise<Result>): Promise<Result> {
    const client = await this.#connect();
    const session = new ClientStatements(client, this.#silent, (cause) => this.#failed(cause));
    // Else an error while no statement runs would end the process.
    const onError = () => {
      session.isLost = true;
    };
    client.on('error', onError);
    try {
      return await work(session);
    } finally {
      await session.leave();
      client.off('error', onError);
      this.#pool.release(client, session.isLost);
    }
  }

  #failed(cause: unknown): void {
    // Nor will others answer that were idle as long.
    if (isAnswerLate(cause)) this.#pool.renew();
    if (!isReadOnlyFailure(cause)) return;
    this.noteReadOnly(true);
    for (const listener of this.#doubters) listener();
  }

  /** A connection beside the pool, for what holds one for long. The caller connects and ends it, and hears of its errors. */
  client(over: pg.ClientConfig = {}): pg.Client {
    return new CuttableClient({ ...this.#config, ...over });
  }

  /** A pool beside this one, for a library that asks for one. Connections that are lost while nobody uses them leave it by themselves. */
  pool(size: number, onError: (error: Error) => void = () => {}): pg.Pool {
    const onConnect = (client: pg.ClientBase) => prepareConnection(client, this.#statementTimeoutMs);
    return createPool({ ...this.#config, max: size, onConnect }, onError);
  }

  /** Gives the work its own connection without time limits, closed when the signal aborts. Conflicts run the work again. */
  patiently<Result>(work: (session: ClientSession) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    return withRetries(() => this.#onOwnConnection(work, signal));
  }

  async #onOwnConnection<Result>(
    work: (session: ClientSession) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    signal?.throwIfAborted();
    const client = this.client({ query_timeout: 0 });
    client.on('error', () => {}); // the statement that runs then fails too
    try {
      await client.connect();
      await prepareConnection(client, 0);
    } catch (cause) {
      await client.end().catch(() => {});
      throw asConnectError(cause);
    }
    const end = () => void client.end().catch(() => {});
    signal?.addEventListener('abort', end);
    try {
      return await work(new ClientStatements(client, this.#silent, (cause) => this.#failed(cause)));
    } finally {
      signal?.removeEventListener('abort', end);
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
      const error = asConnectError(cause);
      this.#error = error;
      throw error;
    }
  }
}

function orLate(answer: Promise<boolean>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    void answer.then(resolve).finally(() => clearTimeout(timer));
  });
}

function within<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new StoreUnavailable(`the database did not answer within ${ms} ms`));
    const timer = setTimeout(late, ms);
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
