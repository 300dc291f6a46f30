import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Sent } from './webhook-senders.ts';

/** One way in, and what it answers to a caller who does all right. */
export interface Door {
  readonly name: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly right: number;
  /** It counts its calls, so it is asked each second alone. */
  readonly isSeldom?: boolean;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
const MCP_TYPES = { ...JSON_TYPE, Accept: 'application/json, text/event-stream' };
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

/** The doors that are open to the key of the first start, and to everybody. */
export function doorsOf(key: string): Door[] {
  const bearer = { Authorization: `Bearer ${key}` };
  return [
    { name: 'readiness', path: '/readyz', right: 200 },
    { name: 'health', path: '/api/v1/health', headers: bearer, right: 200 },
    { name: 'REST', path: '/api/v1/agents', headers: bearer, right: 200 },
    { name: 'MCP', method: 'POST', path: '/api/v1/mcp', headers: { ...bearer, ...MCP_TYPES }, body: LIST, right: 200 },
    { name: 'OAuth metadata', path: '/.well-known/oauth-authorization-server', right: 200 },
    { name: 'keys of ID tokens', path: '/.well-known/jwks.json', right: 200 },
    { name: 'OAuth resource', path: '/.well-known/oauth-protected-resource/api/v1/mcp', right: 200 },
    { name: 'sign-in', path: '/sign-in', headers: { Accept: 'text/html' }, right: 200 },
    { name: 'dashboard', path: '/', headers: { Accept: 'text/html' }, right: 303 },
  ];
}

/** The MCP endpoint of a capsule, for its token. */
export function capsuleDoor({ id, token }: { readonly id: string; readonly token: string }): Door {
  const headers = { ...MCP_TYPES, Authorization: `Bearer ${token}` };
  return { name: 'capsule', method: 'POST', path: `/api/capsules/${id}/mcp`, headers, body: LIST, right: 200 };
}

/** The webhook of a flow, for a sender who delivers again what was taken before. */
export function webhookDoor(flowId: string, { headers, body }: Sent): Door {
  const same = { ...headers, 'x-github-delivery': 'one' };
  const path = `/api/v1/agents/flows/${flowId}/trigger`;
  return { name: 'webhook', method: 'POST', path, headers: same, body, right: 200, isSeldom: true };
}

export function sessionDoor(cookie: string): Door {
  return { name: 'session', path: '/api/v1/auth/session', headers: { Cookie: cookie }, right: 200 };
}

/** What came of probes of one process while it starts and stops. */
export class DoorProbes {
  /** Answers that nobody should get, each once. */
  readonly wrong = new Set<string>();
  /** How often each answer came. */
  readonly answers = new Map<string, number>();
  readonly #baseUrl: string;
  readonly #doors: readonly Door[];
  readonly #longestMs: number;
  readonly #keepAlive = new Agent({ keepAlive: true, maxSockets: 4 });
  readonly #open = new Set<Promise<void>>();
  #isRunning = true;
  #running: Promise<unknown>;

  /** One probe each `everyMs`, of one door after the other, and one of all doors each second. `longestMs` without a word is wrong. */
  constructor(baseUrl: string, doors: readonly Door[], everyMs = 3, longestMs = LONGEST_MS) {
    this.#baseUrl = baseUrl;
    this.#doors = doors;
    this.#longestMs = longestMs;
    this.#running = Promise.all([this.#oneByOne(doors, everyMs), this.#all(doors)]);
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#running;
    await Promise.all(this.#open);
    this.#keepAlive.destroy();
  }

  /** Resolves when each door was answered as it should be, or the probes end. */
  async allRight(): Promise<void> {
    const isRight = ({ name, right }: Door) => this.answers.has(`${name} ${right}`);
    while (this.#isRunning && !this.#doors.every(isRight)) await delay(3);
  }

  async #oneByOne(doors: readonly Door[], everyMs: number): Promise<void> {
    const often = doors.filter(({ isSeldom }) => !isSeldom);
    for (let at = 0; this.#isRunning; at += 1) {
      const door = often[at % often.length];
      if (door && this.#open.size < MOST_OPEN) this.#begin(door, at % 2 === 0);
      await delay(everyMs);
    }
  }

  async #all(doors: readonly Door[]): Promise<void> {
    while (this.#isRunning) {
      for (const door of doors) this.#begin(door, false);
      for (let waited = 0; this.#isRunning && waited < 1000; waited += 50) await delay(50);
    }
  }

  #begin(door: Door, keptAlive: boolean): void {
    const probe = this.#probe(door, keptAlive).finally(() => this.#open.delete(probe));
    this.#open.add(probe);
  }

  async #probe(door: Door, keptAlive: boolean): Promise<void> {
    const answer = await this.#ask(door, keptAlive).catch(
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    );
    if (typeof answer === 'string') return this.#count(`no answer ${answer}`);
    const { status, retryAfter, body } = answer;
    this.#count(`${door.name} ${status}`);
    const isLater = status === 503 && (retryAfter !== undefined || /readyz|health/.test(door.path));
    if (status !== door.right && !isLater) this.wrong.add(`${door.name}: ${status} ${body.slice(0, 200)}`);
  }

  #count(answer: string): void {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
  }

  #ask({ method = 'GET', path, headers, body }: Door, keptAlive: boolean) {
    return new Promise<{ status: number; retryAfter: string | undefined; body: string }>((resolve, reject) => {
      const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
      const asking = request(
        `${this.#baseUrl}${path}`,
        {
          method,
          headers: { ...headers, ...length },
          agent: keptAlive ? this.#keepAlive : false,
          timeout: this.#longestMs,
        },
        (response: IncomingMessage) => {
          const { statusCode: status = 0, headers: received } = response;
          text(response).then((got) => resolve({ status, retryAfter: received['retry-after'], body: got }), reject);
        },
      );
      asking.once('timeout', () => {
        this.wrong.add(`${method} ${path}: no answer`);
        asking.destroy();
      });
      asking.once('error', reject).end(body);
    });
  }
}

const MOST_OPEN = 40;
/** Without a word. Far longer than any answer takes on a busy machine. */
const LONGEST_MS = 30_000;
