/** What the processes on one database share besides records. A store that one process has for itself has none of it. */
export interface Cluster {
  /** Enters this process among those that run, and keeps it there. @throws OperatorError if a running process has other secrets */
  join(secrets: SharedSecrets): Promise<void>;
  secret(name: string, make: () => string): Promise<string>;
  replaceSecret(name: string, before: string, after: string): Promise<string>;
  /** Adds points to a count. The first points begin a period of this length, and after it the count begins anew. */
  count(key: string, points: number, periodMs: number): Promise<CountResult>;
  /** Holds the key until the returned function is called, or 10 s beyond a crash. Undefined if it is held, here or elsewhere. */
  hold(key: string): Promise<(() => Promise<void>) | undefined>;
  /** Runs the work while no other process runs work under this key. @throws StoreBusy if the others take more than 30 s */
  inTurn<Result>(key: string, work: () => Promise<Result>, waiting?: WaitOptions): Promise<Result>;
  put(key: string, value: object, periodMs: number): Promise<void>;
  get(key: string): Promise<object | undefined>;
  /** Gets the value and removes it: of several who take it at once, one gets it. */
  take(key: string): Promise<object | undefined>;
  /** Calls the listener after a gap of minutes, when it is unknown what others have changed, until the returned function is called. */
  onGap(listener: () => void): () => void;
  clocks(): Promise<readonly ProcessClock[]>;
  /** Sends a short message to all other processes that are connected now. Nothing is sent again. */
  tell(topic: string, message: unknown): void;
  onTold(topic: string, listener: (message: unknown) => void): () => void;
}

export interface WaitOptions {
  readonly signal?: AbortSignal;
  onWait?(): void;
}

export type SharedSecrets = Readonly<Record<string, AcceptedSecrets>>;

/** Fingerprints of secrets, which reveal nothing of them. The first signs or encrypts; all are accepted. */
export type AcceptedSecrets = readonly string[];

export interface ProcessClock {
  readonly process: string;
  readonly host: string;
  readonly aheadMs: number;
}

export interface CountResult {
  readonly points: number;
  /** When the period ends. */
  readonly endsInMs: number;
}

export const ELSEWHERE: object = Object.freeze({ elsewhere: true });
