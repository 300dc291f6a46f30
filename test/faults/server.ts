import { setTimeout as delay } from 'node:timers/promises';
import { type Exit, type StartingProcess, spawnServer } from '../support/child.ts';
import { freePort } from '../support/free-port.ts';
import { send } from '../support/http.ts';

const RECENT = 4000;
/** A process ends within the time limit of statements. */
const LONGEST_END_MS = 40_000;
/** What a process says at its end where disk or database did not take its last entries any more; then it ends with 1. */
const UNFINISHED = /The server could not end as it should: .*(ENOSPC|EFBIG|EMFILE|database|the store did not take)/;
/** One more process on a data folder waits for a few seconds only. */
const REFUSED = /is open in process \d+ on .*one process at a time can use a data folder/;
/** A process that may open no more files while it starts says so, or Node.js does. */
const WITHOUT_FILES = /EMFILE/;
const LISTENS = /^agent-admin listens on /m;
const UNCAUGHT = /uncaught|unhandled|"level":60|(Type|Range|Reference|Assertion)Error|out of memory/;

/** One process of the product, on the same port each time it is started. */
export class FaultedServer {
  readonly at: number;
  readonly port: number;
  readonly baseUrl: string;
  readonly #wrong: string[] = [];
  readonly #env: () => Record<string, string>;
  #begunAt = 0;
  /** How much of what the process said was looked at. */
  #read = 0;
  #process: StartingProcess | undefined;
  /** What exit is right, as it was asked for. */
  #wanted: NodeJS.Signals | undefined;
  #isPaused = false;
  /** How often it was started. */
  starts = 0;

  private constructor(at: number, port: number, env: () => Record<string, string>) {
    this.at = at;
    this.port = port;
    this.baseUrl = `http://127.0.0.1:${port}`;
    this.#env = env;
  }

  static async open(at: number, env: () => Record<string, string>): Promise<FaultedServer> {
    return new FaultedServer(at, await freePort(), env);
  }

  /** Of the process that runs. */
  get pid(): number | undefined {
    return this.#process?.process.pid;
  }

  /** Whether it was told to end. */
  get isEnding(): boolean {
    return this.#wanted !== undefined;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** How long the process runs. */
  get aliveMs(): number {
    return this.#process ? performance.now() - this.#begunAt : 0;
  }

  /** What was wrong since the last question: exits, and errors that nothing caught. */
  takeWrong(): string[] {
    if (this.#process) this.#readLog(this.#process.said());
    return this.#wrong.splice(0);
  }

  /** What the process printed and logged since it started. */
  said(): string {
    return this.#process?.said() ?? '';
  }

  /** What a start that takes long says that it does. */
  get startStep(): string {
    const step = this.said()
      .match(/^Starting for .*$/gm)
      ?.at(-1);
    return step ? `, "${step}"` : '';
  }

  /** Starts the process where it does not run, and does not wait until it answers. */
  async start(): Promise<void> {
    if (this.#process) return;
    const { DATA_DIR = '', ...env } = this.#env();
    this.#wanted = undefined;
    this.starts += 1;
    this.#read = 0;
    this.#begunAt = performance.now();
    const started = await spawnServer(DATA_DIR, { ...env, PORT: String(this.port) });
    this.#process = started;
    void started.ended.then((exit) => this.#judge(exit, started));
  }

  /** Sends the signal and waits for the end of the process. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const running = this.#process;
    if (!running) return;
    this.#wanted = signal;
    running.process.kill(signal);
    if (this.#isPaused) this.resume();
    const late = setTimeout(() => {
      this.#wrong.push(`process ${this.at} did not end after ${signal}: ${running.said().slice(-RECENT)}`);
      this.#wanted = 'SIGKILL';
      running.process.kill('SIGKILL');
    }, LONGEST_END_MS);
    await running.ended;
    clearTimeout(late);
    this.#process = undefined;
  }

  pause(): void {
    this.#isPaused = this.#process?.process.kill('SIGSTOP') ?? false;
  }

  resume(): void {
    this.#process?.process.kill('SIGCONT');
    this.#isPaused = false;
  }

  /** Resolves when the process takes requests. */
  async ready(): Promise<void> {
    for (;;) {
      const answer = await send(`${this.baseUrl}/readyz`).catch(() => undefined);
      if (answer?.status === 200) return;
      if (!this.#process) throw new Error(`process ${this.at} does not run`);
      await delay(20);
    }
  }

  #readLog(said: string): void {
    const lines = said.slice(this.#read).split('\n');
    this.#read = said.length;
    for (const line of lines)
      if (UNCAUGHT.test(line)) this.#wrong.push(`process ${this.at} says: ${line.slice(0, RECENT)}`);
  }

  #judge({ code, signal }: Exit, { said }: StartingProcess): void {
    const right =
      (code === 1 && (REFUSED.test(said()) || (WITHOUT_FILES.test(said()) && !LISTENS.test(said())))) ||
      (this.#wanted === 'SIGTERM' && (code === 0 || (code === 1 && UNFINISHED.test(said())))) ||
      (this.#wanted === 'SIGKILL' && signal === 'SIGKILL') ||
      // Before it hears signals, the system ends it.
      (this.#wanted === 'SIGTERM' && signal === 'SIGTERM' && said() === '');
    if (!right)
      this.#wrong.push(
        `process ${this.at} ended with ${code ?? signal}, after ${this.#wanted ?? 'no signal'}: ${said().slice(-RECENT)}`,
      );
    this.#readLog(said());
    if (!this.#wanted) this.#process = undefined;
  }
}
