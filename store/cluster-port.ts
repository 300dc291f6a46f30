/** What the processes on one database share besides records. A store that one process has for itself has none of it. */
export interface Cluster {
  /** Enters this process among those that run, and keeps it there. @throws OperatorError if a running process has other secrets */
  join(secrets: SharedSecrets): Promise<void>;
  /** The text that all processes have under this name. The first one to ask makes it. */
  secret(name: string, make: () => string): Promise<string>;
  /** Replaces the text where it is still the one before. Returns the text as it is then. */
  replaceSecret(name: string, before: string, after: string): Promise<string>;
  /** Adds points to a count. The first points begin a period of this length, and after it the count begins anew. */
  count(key: string, points: number, periodMs: number): Promise<Counted>;
  /**
   * Holds the key until the returned function is called. A key of a process that died is free 10 s later. Undefined if the key is held
   * already, here or elsewhere.
   */
  hold(key: string): Promise<(() => Promise<void>) | undefined>;
  /** Runs the work while no other process runs work under this key. @throws StoreBusy if the others take more than 30 s */
  inTurn<Result>(key: string, work: () => Promise<Result>, waiting?: Waiting): Promise<Result>;
  /** Keeps a value for a while, in place of the one before. */
  put(key: string, value: object, periodMs: number): Promise<void>;
  get(key: string): Promise<object | undefined>;
  /** Gets the value and removes it: of several who take it at once, one gets it. */
  take(key: string): Promise<object | undefined>;
  /**
   * Calls the listener where it is unknown what others have changed, because nothing was heard of them for minutes, until the returned
   * function is called.
   */
  onGap(listener: () => void): () => void;
  /** The clocks of the processes that run. */
  clocks(): Promise<readonly ProcessClock[]>;
  /** Sends a short message to all other processes that are connected now. Nothing is sent again. */
  tell(topic: string, message: unknown): void;
  /** Calls the listener with these messages until the returned function is called. */
  onTold(topic: string, listener: (message: unknown) => void): () => void;
}

export interface Waiting {
  /** Ends the waiting. */
  readonly signal?: AbortSignal;
  /** Called where others are at it. */
  onWait?(): void;
}

/** Secrets that all processes must have, by the name of the variable that sets them. */
export type SharedSecrets = Readonly<Record<string, AcceptedSecrets>>;

/** Fingerprints of secrets, which reveal nothing of them. The first signs or encrypts; all are accepted. */
export type AcceptedSecrets = readonly string[];

export interface ProcessClock {
  /** Names the process. */
  readonly process: string;
  readonly host: string;
  /** How far its clock is ahead of that of the database. */
  readonly aheadMs: number;
}

export interface Counted {
  readonly points: number;
  /** When the period ends. */
  readonly endsInMs: number;
}

/** The origin of commits that another process made. */
export const ELSEWHERE: object = Object.freeze({ elsewhere: true });
