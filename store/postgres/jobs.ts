import { EventEmitter } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { Logger, runTaskList, type TaskList, type WorkerEvents, type WorkerPool } from 'graphile-worker';
import type pg from 'pg';
import type { JobOptions, JobPayload, Jobs, JobTable } from '../jobs-port.ts';
import { Membership } from './cluster/membership.ts';
import type { Database } from './database.ts';

const LEAD_EVERY_MS = 1000;
/** A process that could not ask for so long does not lead, because another one may by now. */
const LEADS_FOR_MS = 5000;

interface JobsDeps {
  readonly process: string;
  readonly database: Database;
  onFailure(cause: unknown): void;
}

export class PostgresJobs implements Jobs {
  readonly worker: string;
  readonly #deps: JobsDeps;
  readonly #served = new Set<JobWorkers>();
  #ledAt = Number.NEGATIVE_INFINITY;
  #leading: NodeJS.Timeout | undefined;

  constructor(deps: JobsDeps) {
    this.worker = deps.process;
    this.#deps = deps;
  }

  get isLeader(): boolean {
    return performance.now() - this.#ledAt < LEADS_FOR_MS;
  }

  async start(): Promise<void> {
    await this.#lead();
    this.#leading = setInterval(() => void this.#lead(), LEAD_EVERY_MS).unref();
  }

  async isAlive(worker: string | undefined): Promise<boolean> {
    if (worker === undefined || worker === this.worker) return worker !== undefined;
    const found = await this.#deps.database.query<{ runs: boolean }>({
      name: 'job_worker',
      text: RUNS,
      values: [worker],
    });
    return found[0]?.runs === true;
  }

  async open(): Promise<number> {
    const [found] = await this.#deps.database.query<{ jobs: number }>({ name: 'jobs_open', text: OPEN });
    return found?.jobs ?? 0;
  }

  async add(name: string, payload: JobPayload, { key, afterMs = 0 }: JobOptions = {}): Promise<void> {
    const values = [name, JSON.stringify(payload), afterMs / 1000, key === undefined ? null : `${name} ${key}`];
    await this.#deps.database.query({ name: 'job_add', text: ADD, values });
  }

  serve(work: JobTable, onFailure: (cause: unknown) => void): () => Promise<void> {
    const workers = new JobWorkers({ ...this.#deps, work, onFailure });
    this.#served.add(workers);
    return () => {
      this.#served.delete(workers);
      return workers.close();
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#leading);
    await Promise.all([...this.#served].map((workers) => workers.close()));
    const values = [this.worker];
    await this.#deps.database.query({ text: RESIGN, values }).catch(this.#deps.onFailure);
  }

  async #lead(): Promise<void> {
    const { database, onFailure } = this.#deps;
    const asked = performance.now();
    try {
      const values = [this.worker];
      const leads = (await database.query({ name: 'job_lead', text: LEAD, values, isQuick: true })).length > 0;
      this.#ledAt = leads ? asked : Number.NEGATIVE_INFINITY;
      if (leads) await database.query({ name: 'job_free', text: FREE, values });
    } catch (cause) {
      onFailure(cause);
    }
  }
}

const OPEN = 'select count(*)::integer as jobs from graphile_worker.jobs';

const RUNS = `select ${Membership.runs('$1')} as runs`;

const ADD = `select from graphile_worker.add_job($1, $2::json, job_key := $4,
  run_at := case when $3::float8 > 0 then now() + make_interval(secs => $3::float8) end)`;

const LEAD = `insert into cluster_holds as held (key, process) values ('jobs', $1)
  on conflict (key) do update set process = excluded.process
    where held.process = excluded.process or not ${Membership.runs('held.process')}
  returning 1`;

const RESIGN = `delete from cluster_holds where key = 'jobs' and process = $1`;

const FREE = `with gone as (
    delete from job_pools where process <> $1 and not ${Membership.runs('job_pools.process')} returning pool
  )
  select graphile_worker.force_unlock_workers(array_agg(pool)) from gone having count(*) > 0`;

const AT_ONCE = 4;
const CONNECTIONS = 3;
const POLL_MS = 2000;
const AGAIN_MS = 1000;
/** For so long a pool is known to be entered in the database. It is less than the time after which a process that is not heard counts as gone. */
const ENTERED_MS = 5000;
const PUT_AWAY_MS = 2000;
const LEAVE_MS = 8000;

interface JobWorkersDeps extends JobsDeps {
  readonly work: JobTable;
}

interface Pool {
  readonly pool: WorkerPool;
  readonly underWay: ReadonlySet<Promise<void>>;
  /** Its own, so that a pool that replaces it may reach another server. */
  readonly connections: pg.Pool;
}

/**
 * Does jobs of graphile-worker, which keeps a job locked for 4 hours if its worker lost it. So a pool is entered under its process, whose
 * jobs come free when it is gone, and a pool is replaced after an error of the connection.
 */
class JobWorkers {
  readonly #deps: JobWorkersDeps;
  #pool: Pool;
  /** The pool may hold a job that none of its workers knows of. */
  #mayHold = false;
  #closing: Promise<void> | undefined;
  readonly #ending = new Set<Promise<void>>();
  readonly #disconnecting = new Set<Promise<void>>();

  constructor(deps: JobWorkersDeps) {
    this.#deps = deps;
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
      await this.#deps.database.query({ text: ENTER, values: [pool.id, this.#deps.process] });
      entered = now;
    };
    const underWay = new Set<Promise<void>>();
    const connections = this.#deps.database.pool(CONNECTIONS);
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
    const { work, onFailure } = this.#deps;
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

  #end(former: Pool): void {
    const ended = this.#ended(former);
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  async #ended({ pool, underWay, connections }: Pool): Promise<void> {
    const { database, onFailure } = this.#deps;
    const shutDown = Promise.resolve(pool.gracefulShutdown()).catch(onFailure);
    // After errors of the connection, the pool may wait for ever.
    const idle = Promise.allSettled(underWay).then(() => setTimeout(PUT_AWAY_MS, undefined, { ref: false }));
    await Promise.race([shutDown, idle]);
    const disconnected = connections.end().finally(() => this.#disconnecting.delete(disconnected));
    this.#disconnecting.add(disconnected);
    for (;;) {
      try {
        await database.query({ text: FREE_POOL, values: [pool.id] });
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

const FREE_POOL = `with gone as (delete from job_pools where pool = $1)
  select graphile_worker.force_unlock_workers(array[$1])`;
