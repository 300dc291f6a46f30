/**
 * Work that no caller waits for. A job can run twice, late or never. It is only a hint: whoever adds one also scans the records for unfinished work.
 */
export interface Jobs {
  /** The name of this process in the records that it works on, another with each start. Undefined if no other process can use the store. */
  readonly worker: string | undefined;
  /** Whether this process does what only one should do. After a leader dies, no process leads for a moment; rarely, two do. */
  readonly isLeader: boolean;
  isAlive(worker: string | undefined): Promise<boolean>;
  /** How many jobs are open. */
  open(): Promise<number>;
  /** Has the job done once in a process that serves it. @throws StoreUnavailable */
  add(name: string, payload: JobPayload, options?: JobOptions): Promise<void>;
  /** Does these jobs here, until the returned function is called. That resolves when the jobs under way have ended. */
  serve(work: JobTable, onFailure: (cause: unknown) => void): () => Promise<void>;
}

export type JobPayload = Readonly<Record<string, string | number>>;

/** The work by the name of the job. Where it rejects, it is done again later, with growing pauses. */
export type JobTable = Readonly<Record<string, (payload: JobPayload) => Promise<void>>>;

export interface JobOptions {
  readonly key?: string;
  readonly afterMs?: number;
}
