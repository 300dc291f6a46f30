import { randomUUID } from 'node:crypto';
import type { PeriodicTask } from '../periodic-task.ts';
import type { Readers } from '../port.ts';
import { Changes } from './changes/changes.ts';
import { PostgresCluster } from './cluster/cluster.ts';
import { Messages, TOLD } from './cluster/messages.ts';
import { maintainCounts } from './counts/materialized-counts.ts';
import type { Database } from './database.ts';
import { PostgresJobs } from './jobs/jobs.ts';

const SHOWN_MS = 60_000;

interface SharedOptions {
  readonly database: Database;
  readers(): Readers;
  /** Milliseconds of a clock that never goes back. Default: the machine's. */
  readonly clock?: (() => number) | undefined;
  /** The time of day of this process. */
  now(): Date;
}

/** What a store does to run beside others on its database. */
export interface Shared {
  readonly changes: Changes;
  readonly cluster: PostgresCluster;
  readonly jobs: PostgresJobs;
  /** What failed in the last minute. */
  readonly error: Error | undefined;
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createShared(options: SharedOptions): Shared {
  const process = randomUUID();
  let failure: { readonly error: Error; readonly at: number } | undefined;
  const noted = (what: string) => (cause: unknown) => {
    const message = `${what} failed: ${cause instanceof Error ? cause.message : String(cause)}`;
    failure = { error: new Error(message, { cause }), at: performance.now() };
  };
  const onFailure = noted('hearing of other processes');
  const messages: Messages = new Messages(process, (text) => changes.feed.notify(TOLD, text));
  const changes: Changes = new Changes({
    ...options,
    process,
    onFailure,
    channels: [TOLD],
    onNotification: (_, text) => messages.heard(text),
  });
  const cluster = new PostgresCluster({ ...options, process, changes, messages, onFailure });
  const jobs = new PostgresJobs({ ...options, process, onFailure: noted('work that one process does') });
  let counts: PeriodicTask | undefined;
  return {
    changes,
    cluster,
    jobs,
    get error() {
      return failure && performance.now() - failure.at < SHOWN_MS ? failure.error : undefined;
    },
    async start() {
      await changes.start();
      await cluster.start();
      await jobs.start();
      counts = maintainCounts(options.database, jobs, noted('adding up counts'));
    },
    async close() {
      await counts?.close();
      await jobs.close();
      await cluster.close();
      await changes.close();
    },
  };
}
