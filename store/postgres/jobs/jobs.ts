import type { JobOptions, JobPayload, Jobs, JobTable } from '../../jobs-port.ts';
import { Membership } from '../cluster/membership.ts';
import type { Database } from '../database.ts';
import { JobWorkers } from './job-workers.ts';

const LEAD_EVERY_MS = 1000;
/** A process that could not ask for so long does not lead, because another one may by now. */
const LEADS_FOR_MS = 5000;

interface JobsParts {
  /** Names this process. */
  readonly process: string;
  readonly database: Database;
  onFailure(cause: unknown): void;
}

/** Jobs of the processes on one database, in the tables of graphile-worker. */
export class PostgresJobs implements Jobs {
  readonly worker: string;
  readonly #parts: JobsParts;
  readonly #served = new Set<JobWorkers>();
  #ledAt = Number.NEGATIVE_INFINITY;
  #leading: NodeJS.Timeout | undefined;

  constructor(parts: JobsParts) {
    this.worker = parts.process;
    this.#parts = parts;
  }

  get leads(): boolean {
    return performance.now() - this.#ledAt < LEADS_FOR_MS;
  }

  async start(): Promise<void> {
    await this.#lead();
    this.#leading = setInterval(() => void this.#lead(), LEAD_EVERY_MS).unref();
  }

  async isAlive(worker: string | undefined): Promise<boolean> {
    if (worker === undefined || worker === this.worker) return worker !== undefined;
    const found = await this.#parts.database.query<{ runs: boolean }>({
      name: 'job_worker',
      text: RUNS,
      values: [worker],
    });
    return found[0]?.runs === true;
  }

  async open(): Promise<number> {
    const [found] = await this.#parts.database.query<{ jobs: number }>({ name: 'jobs_open', text: OPEN });
    return found?.jobs ?? 0;
  }

  async add(name: string, payload: JobPayload, { key, afterMs = 0 }: JobOptions = {}): Promise<void> {
    const values = [name, JSON.stringify(payload), afterMs / 1000, key === undefined ? null : `${name} ${key}`];
    await this.#parts.database.query({ name: 'job_add', text: ADD, values });
  }

  serve(work: JobTable, onFailure: (cause: unknown) => void): () => Promise<void> {
    const workers = new JobWorkers({ ...this.#parts, work, onFailure });
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
    await this.#parts.database.query({ text: RESIGN, values }).catch(this.#parts.onFailure);
  }

  /** Becomes leader if no other process is. The leader frees the jobs of dead processes. */
  async #lead(): Promise<void> {
    const { database, onFailure } = this.#parts;
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
