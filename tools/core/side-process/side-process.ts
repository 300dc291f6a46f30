import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A function that a module of this project exports, perhaps async. It takes and returns plain data. */
export interface Job {
  /** Address of the module. It should import little. */
  readonly module: URL;
  readonly name: string;
  readonly args: readonly unknown[];
  /** The time limit, counted from the beginning of the job. */
  readonly timeoutMs: number;
  /** For whom it is done. Callers take turns, however many jobs each of them has. */
  readonly caller: string;
}

/** The result of a job and its duration: its value, the message of its error, or why it was ended. */
export type JobOutcome = { readonly ms: number } & (
  | { readonly value: unknown }
  | { readonly thrown: string }
  | { readonly ended: string }
);

interface SideProcessOptions {
  /** Of V8's heap. */
  readonly mostMegabytes: number;
  /** Limits the whole process to as much, for work that unpacks into buffers. */
  readonly boundsAll?: true;
  readonly mostWaiting: number;
}

interface Waiting {
  readonly job: Job;
  settle(outcome: JobOutcome): void;
  fail(cause: unknown): void;
}

/** Too many jobs of the caller are waiting. */
export class Busy extends Error {}

type Message = { readonly begun: true } | JobOutcome;

/**
 * Runs jobs one after the other in a process of its own, so that a job that takes long or much memory holds up nothing else. A thread would
 * not do: where one allocation goes far beyond its limit, V8 ends the whole process. The process starts with the first job. It ends when
 * there was no job for a while, or when a job takes too long or too much memory.
 */
export class SideProcess {
  readonly #options: SideProcessOptions;
  /** The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #child: ChildProcess | undefined;
  #current: (Waiting & { begunAt?: number }) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SideProcessOptions) {
    this.#options = options;
  }

  /** @throws Busy */
  run(job: Job): Promise<JobOutcome> {
    const own = this.#waiting.get(job.caller) ?? [];
    if (own.length >= this.#options.mostWaiting) return Promise.reject(new Busy());
    return new Promise((settle, fail) => {
      own.push({ job, settle, fail });
      this.#waiting.set(job.caller, own);
      this.#next();
    });
  }

  #next(): void {
    if (this.#current) return;
    const next = this.#take();
    if (next) this.#begin(next);
    else this.#rest();
  }

  #take(): Waiting | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [caller, [next, ...others]] = first;
    this.#waiting.delete(caller);
    if (others.length > 0) this.#waiting.set(caller, others);
    return next;
  }

  #begin(next: Waiting): void {
    this.#current = next;
    this.#child ??= this.#start();
    this.#child.ref();
    this.#child.channel?.ref();
    this.#endAfter(START_MS, 'it did not begin in time');
    const { module, name, args } = next.job;
    this.#child.send({ module: module.href, name, args }, (error) => {
      if (error && this.#current === next) this.#done(({ fail }) => fail(error));
    });
  }

  /** Lets this process end although the child runs, and ends the child after a while. */
  #rest(): void {
    this.#child?.unref();
    this.#child?.channel?.unref();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stop(), IDLE_MS).unref();
  }

  #start(): ChildProcess {
    const { mostMegabytes, boundsAll } = this.#options;
    const args = boundsAll ? [String(mostMegabytes * 1024 * 1024)] : [];
    const child = fork(fileURLToPath(new URL('./child.mjs', import.meta.url)), args, {
      execArgv: [`--max-old-space-size=${mostMegabytes}`],
      env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const ifCurrent = (work: () => void) => () => void (child === this.#child && work());
    child.on('message', (message: Message) => ifCurrent(() => this.#heard(message))());
    child.on('error', (error) => ifCurrent(() => this.#gone(error))());
    child.on('exit', (code, signal) => ifCurrent(() => this.#gone(new Error(`It ended: ${signal ?? code}.`)))());
    return child;
  }

  #heard(message: Message): void {
    if (!this.#current) return;
    if ('begun' in message) {
      const { timeoutMs } = this.#current.job;
      this.#current.begunAt = performance.now();
      this.#endAfter(timeoutMs, `it takes more than ${timeoutMs} ms`);
    } else this.#done(({ settle }) => settle(message));
  }

  /** The child ended by itself. During a job, the cause is a lack of memory. */
  #gone(cause: Error): void {
    this.#child = undefined;
    const ended = `it takes more than ${this.#options.mostMegabytes} MB of memory`;
    this.#done(({ begunAt, settle, fail }) => {
      if (begunAt === undefined) fail(cause);
      else settle({ ended, ms: performance.now() - begunAt });
    });
  }

  #endAfter(ms: number, ended: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#stop();
      this.#done(({ settle }) => settle({ ended, ms }));
    }, ms);
  }

  #done(tell: (current: Waiting & { readonly begunAt?: number }) => void): void {
    clearTimeout(this.#timer);
    const current = this.#current;
    this.#current = undefined;
    if (current) tell(current);
    this.#next();
  }

  #stop(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}

/** On a busy machine, loading the modules takes time. */
const START_MS = 30_000;
const IDLE_MS = 60_000;
