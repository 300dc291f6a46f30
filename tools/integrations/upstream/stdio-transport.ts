import { type ChildProcess, spawn } from 'node:child_process';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { Pace } from '../../core/outbound/limits.ts';
import { LineReader } from './line-reader.ts';
import type { Watchdog } from './watchdog.ts';

/** A program that speaks MCP on its standard input and output. */
export interface StdioTarget {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** How long a program may take to end after its input ended, and again after SIGTERM. */
const GRACE_MS = 2000;
const DRAIN_MS = 200;
const STDERR_KEPT = 4000;

/**
 * Runs the program as a child in a process group of its own, so that the program's own children end with it. Its environment has only PATH,
 * HOME and the given variables. `pid` and `stderr` show the SDK that this is a stdio transport.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #target: StdioTarget;
  readonly #mostBytes: number;
  readonly #watchdog: Watchdog;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #stderr = '';

  constructor(target: StdioTarget, mostBytes: number, watchdog: Watchdog) {
    this.#target = target;
    this.#mostBytes = mostBytes;
    this.#watchdog = watchdog;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The last text that the child wrote to standard error. */
  get stderr(): string {
    return this.#stderr;
  }

  start(): Promise<void> {
    const { command, args, env } = this.#target;
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(command, args, {
      env: { PATH, HOME, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
    });
    this.#child = child;
    // Where the child could not be started, its first error reports that. In all other cases its exit does.
    for (const emitter of [child, child.stdin, child.stderr]) emitter.on('error', (error) => this.onerror?.(error));
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = `${this.#stderr}${chunk}`.slice(-STDERR_KEPT);
    });
    if (child.pid !== undefined) this.#watch(child, child.pid);
    void this.#read(child);
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('spawn', resolve);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw new Error('The program has ended.');
    if (stdin.write(`${JSON.stringify(message)}\n`)) return;
    await new Promise<void>((resolve) => {
      stdin.once('drain', resolve);
      stdin.once('close', resolve);
    });
  }

  /** Ends the child's input, then sends SIGTERM, then SIGKILL. Resolves when the child and its process group are gone. */
  async close(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    child.stdin?.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await this.#endsWithin(GRACE_MS)) break;
      endGroup(child, signal);
    }
    await this.#ended;
  }

  #watch(child: ChildProcess, pid: number): void {
    this.#watchdog.watch(pid);
    this.#ended = new Promise((resolve) => {
      child.once('exit', () => {
        endGroup(child, 'SIGKILL');
        this.#watchdog.forget(pid);
        // Its last output is still read. But a process that left the group could keep the pipes open for ever.
        setTimeout(letGo, DRAIN_MS, child).unref();
      });
      child.once('close', () => {
        this.#child = undefined;
        resolve();
        this.onclose?.();
      });
    });
  }

  /** An error at one message must not end the reading of others. */
  #tell(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error as Error); // no listener reads more than its text
    }
  }

  async #endsWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(resolve, ms, false);
    });
    const inTime = await Promise.race([this.#ended.then(() => true), late]);
    clearTimeout(timer);
    return inTime;
  }

  async #read({ stdout }: ChildProcess): Promise<void> {
    if (!stdout) return;
    const pace = new Pace();
    const lines = new LineReader(this.#mostBytes);
    try {
      for await (const chunk of stdout) {
        for (const message of lines.read(chunk)) {
          this.#tell(message);
          await pace.step();
        }
        if (lines.isEndless) return void this.close();
      }
    } catch {
      // The child has ended; its exit reports that.
    }
  }
}

function letGo({ stdio }: ChildProcess): void {
  for (const stream of stdio) stream?.destroy();
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // No process of the group is left.
  }
}
