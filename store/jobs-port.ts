/**
 * Work that no caller waits for. A job can run twice, late or never: it says only where to look, and its producers also scan the records.
 */
export interface Jobs {
  /** This process, as records name it that it works on. Each start has another name. Undefined if no other process can use the store. */
  readonly worker: string | undefined;
  /** Whether this process does what only one should do. It is false in all for a moment when that one is lost, and rarely true in two. */
  readonly leads: boolean;
  isAlive(worker: string | undefined): Promise<boolean>;
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
