import { type ChildProcess, spawn } from 'node:child_process';
import {
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { answerWith, isExcessive, Pace, withPartLimit } from '../../core/outbound/limits.ts';
import type { Watchdog } from './watchdog.ts';

export interface StdioTarget {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** How long a program may take to end after its input ended, and again after SIGTERM. */
const GRACE_MS = 2000;
const DRAIN_MS = 200;
const STDERR_KEPT = 4000;

/** Runs the program in a process group of its own, which ends with it. `pid` and `stderr` show the SDK that this is a stdio transport. */
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

/** A line that is longer than this is considered endless. */
const ENDLESS_BYTES = 256 * 1024 * 1024;
/** This much of both ends of a line that is too long is kept, to find the id of the request that it answers. */
const KEPT_BYTES = 512;

/** Makes messages of lines. For a line that is too long there is an error in its place; what is not a message is ignored. */
export class LineReader {
  readonly #mostBytes: number;
  #deps: Buffer[] = [];
  #size = 0;
  #head: Buffer = NONE;
  #tail: Buffer = NONE;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get isEndless(): boolean {
    return this.#size > ENDLESS_BYTES;
  }

  *read(chunk: Buffer): Generator<JSONRPCMessage> {
    let from = 0;
    for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
      this.#add(chunk.subarray(from, at));
      const message = this.#end();
      if (message) yield message;
      from = at + 1;
    }
    this.#add(chunk.subarray(from));
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size <= this.#mostBytes) {
      this.#deps = withPartLimit(this.#deps, part);
      return;
    }
    if (this.#head.length === 0) {
      // The tail may begin before the part with which the line became too long.
      this.#tail = Buffer.concat(this.#deps);
      this.#head = Buffer.concat([this.#tail, part]).subarray(0, KEPT_BYTES);
      this.#deps = [];
    }
    this.#tail = Buffer.concat([this.#tail, part.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES);
  }

  #end(): JSONRPCMessage | undefined {
    const message = this.#size > this.#mostBytes ? this.#tooLarge() : parseLine(Buffer.concat(this.#deps));
    [this.#deps, this.#size, this.#head, this.#tail] = [[], 0, NONE, NONE];
    return message;
  }

  #tooLarge(): JSONRPCMessage | undefined {
    const id =
      idAt(this.#tail.toString('latin1'), /"id":\s*(\d+|"[\w:.-]{1,100}")\s*\}\s*$/) ??
      idAt(this.#head.toString('latin1'), /^\s*\{[^{[]*?"id":\s*(\d+|"[\w:.-]{1,100}")/);
    return id === undefined ? undefined : answerWith('too_large', id);
  }
}

const NONE = Buffer.alloc(0);

function idAt(text: string, pattern: RegExp): string | number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : JSON.parse(found);
}

function parseLine(line: Buffer): JSONRPCMessage | undefined {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'));
    if (isIgnored(message)) return undefined;
    return isExcessive(line) ? refused(message) : parseJSONRPCMessage(message);
  } catch {
    return undefined; // other output of the program
  }
}

function refused(message: unknown): JSONRPCErrorResponse | undefined {
  const { id, method } = message as { id?: unknown; method?: unknown }; // parsed from an object or array
  const answers = method === undefined && (typeof id === 'string' || typeof id === 'number');
  return answers ? answerWith('too_large', id) : undefined;
}

/** Whether the message is a notification that this server ignores. There may be many of them. */
function isIgnored(message: unknown): boolean {
  const { method, id } = message as { method?: unknown; id?: unknown }; // other values have no such members
  return typeof method === 'string' && id === undefined && !HEARD.has(method);
}

const HEARD = new Set([
  'notifications/progress',
  'notifications/cancelled',
  'notifications/tools/list_changed',
  'notifications/subscriptions/acknowledged',
]);
