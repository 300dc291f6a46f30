/**
 * Work that no caller waits for, done by one of the processes that share the store. A job only says where to look. Records say what is to
 * be done, because a job can run twice, late, or never if its process dies: producers of jobs scan the records now and then and add what
 * is missing.
 */
export interface Jobs {
  /** This process, as records name it that it works on. Each start has another name. Undefined if no other process can use the store. */
  readonly worker: string | undefined;
  /** Whether this process does what only one should do. It is false in all for a moment when that one is lost, and rarely true in two. */
  readonly leads: boolean;
  /** Whether the process may still be at work. */
  isAlive(worker: string | undefined): Promise<boolean>;
  /** How many jobs wait or are under way, in all processes. */
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
  /** Takes the place of a job that waits under the same key. */
  readonly key?: string;
  /** How long it waits at least. */
  readonly afterMs?: number;
}
