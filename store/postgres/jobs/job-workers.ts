import { EventEmitter } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { Logger, runTaskList, type TaskList, type WorkerEvents, type WorkerPool } from 'graphile-worker';
import type pg from 'pg';
import type { JobPayload, JobTable } from '../../jobs-port.ts';
import type { Database } from '../database.ts';

/** The number of jobs that run at once in this process. */
const AT_ONCE = 4;
/** Connections of the workers that fetch and finish jobs, and one that listens for new jobs. */
const CONNECTIONS = 3;
const POLL_MS = 2000;
const AGAIN_MS = 1000;
/** For so long a pool is known to be entered in the database. It is less than the time after which a process that is not heard counts as gone. */
const ENTERED_MS = 5000;
/** How long workers have to put away the jobs that they did. */
const PUT_AWAY_MS = 2000;
/** How long a stopping server waits for jobs under way. */
const LEAVE_MS = 8000;

interface JobWorkersParts {
  /** Names this process. */
  readonly process: string;
  readonly database: Database;
  readonly work: JobTable;
  onFailure(cause: unknown): void;
}

/** Workers of graphile-worker, and the jobs that they do. */
interface Pool {
  readonly pool: WorkerPool;
  readonly underWay: ReadonlySet<Promise<void>>;
  /** Its own, so that a pool that replaces it may reach another server. */
  readonly connections: pg.Pool;
}

/**
 * Does jobs of graphile-worker.
 *
 * By its own rules, a job whose worker lost it stays locked for 4 hours. So each pool of workers is entered under its process, whose jobs
 * come free when it is gone. And after an error of the connection, which can come between a job's lock and its worker, the pool is replaced.
 */
export class JobWorkers {
  readonly #parts: JobWorkersParts;
  #pool: Pool;
  /** The pool may hold a job that none of its workers knows of. */
  #mayHold = false;
  #closing: Promise<void> | undefined;
  readonly #ending = new Set<Promise<void>>();
  readonly #disconnecting = new Set<Promise<void>>();

  constructor(parts: JobWorkersParts) {
    this.#parts = parts;
    this.#pool = this.#start();
  }

  close(): Promise<void> {
    this.#closing ??= this.#leave();
    return this.#closing;
  }

  async #leave(): Promise<void> {
    const closed = new AbortController();
    const late = setTimeout(LEAVE_MS, undefined, { signal: closed.signal }).catch(() => {});
    await Promise.race([this.#close(), late]);
    closed.abort();
  }

  async #close(): Promise<void> {
    this.#end(this.#pool);
    await Promise.all(this.#ending);
    await Promise.all(this.#disconnecting);
  }

  #start(): Pool {
    const events: WorkerEvents = new EventEmitter();
    const logger = new Logger(() => () => {}); // failures of jobs come by `onFailure`, others by events
    const preset = { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } }; // without, a lost connection ends the process
    const options = { concurrency: AT_ONCE, pollInterval: POLL_MS, noHandleSignals: true, logger, events, preset };
    let entered = Number.NEGATIVE_INFINITY;
    const enter = async () => {
      if (performance.now() - entered < ENTERED_MS) return;
      const now = performance.now();
      await this.#parts.database.query({ text: ENTER, values: [pool.id, this.#parts.process] });
      entered = now;
    };
    const underWay = new Set<Promise<void>>();
    const connections = this.#parts.database.pool(CONNECTIONS);
    const pool = runTaskList(options, this.#tasks(enter, underWay), connections);
    const started = { pool, underWay, connections };
    events.on('worker:getJob:error', () => {
      this.#mayHold = true;
      void this.#replaceIfDeaf(started);
    });
    const answered = () => {
      if (this.#mayHold && started === this.#pool) this.#replace();
    };
    events.on('worker:getJob:empty', answered);
    events.on('job:start', answered);
    const ended = () => {
      if (started === this.#pool) this.#replace();
    };
    pool.promise.then(ended, ended);
    // A pool that could not put a job away shuts itself down, and its promise may never settle then.
    events.on('pool:gracefulShutdown', () => setImmediate(ended));
    return started;
  }

  #tasks(enter: () => Promise<void>, underWay: Set<Promise<void>>): TaskList {
    const { work, onFailure } = this.#parts;
    const tasks = Object.entries(work).map(([name, act]) => {
      const task = async (payload: unknown) => {
        await enter();
        await act(payload as JobPayload); // written by `add`
      };
      const tracked = (payload: unknown) => {
        const done = task(payload).finally(() => underWay.delete(done));
        underWay.add(done);
        done.catch(onFailure);
        return done;
      };
      return [name, tracked] as const;
    });
    return Object.fromEntries(tasks);
  }

  /** A pool whose first question failed never asks rightly again. No pool is added while one before it still holds jobs. */
  async #replaceIfDeaf(pool: Pool): Promise<void> {
    await setTimeout(AGAIN_MS, undefined, { ref: false });
    if (pool === this.#pool && this.#mayHold && this.#ending.size === 0) this.#replace();
  }

  #replace(): void {
    if (this.#closing) return;
    this.#mayHold = false;
    const former = this.#pool;
    this.#pool = this.#start();
    this.#end(former);
  }

  /** Lets the pool end its jobs under way, and frees what it holds beyond them. */
  #end(former: Pool): void {
    const ended = this.#ended(former);
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  async #ended({ pool, underWay, connections }: Pool): Promise<void> {
    const { database, onFailure } = this.#parts;
    const shutDown = Promise.resolve(pool.gracefulShutdown()).catch(onFailure);
    // After errors of the connection, the pool may wait for ever.
    const idle = Promise.allSettled(underWay).then(() => setTimeout(PUT_AWAY_MS, undefined, { ref: false }));
    await Promise.race([shutDown, idle]);
    const disconnected = connections.end().finally(() => this.#disconnecting.delete(disconnected));
    this.#disconnecting.add(disconnected);
    for (;;) {
      try {
        await database.query({ text: FREE, values: [pool.id] });
        return;
      } catch (cause) {
        onFailure(cause);
        if (this.#closing) return; // another process frees it when this one is gone
        await setTimeout(AGAIN_MS);
      }
    }
  }
}

const ENTER = 'insert into job_pools (pool, process) values ($1, $2) on conflict (pool) do nothing';

const FREE = `with gone as (delete from job_pools where pool = $1)
  select graphile_worker.force_unlock_workers(array[$1])`;
