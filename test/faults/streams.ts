import { setTimeout as delay } from 'node:timers/promises';
import { modern, modernHeaders } from '../facade/mcp-requests.ts';
import { credential } from '../support/calls.ts';
import { eventsOf } from '../support/events.ts';
import type { Caller, Client } from './client.ts';
import type { FaultedServer } from './server.ts';
import type { Violations, Work } from './work.ts';

const LISTEN = 'subscriptions/listen';
const HEARS_MS = 10_000;
/** The end of a process is known a moment after that of its connections. */
const EXIT_MS = 200;

interface Stream {
  readonly server: FaultedServer;
  isOpen: boolean;
  /** Notifications of changes. */
  heard: number;
}

/** Subscriptions to one record, one at each process, that go on or end properly, and are then opened again. */
export class Streams implements Work {
  readonly name = 'streams';
  readonly everyMs = 1000;
  readonly #client: Client;
  readonly #caller: Caller;
  readonly #violations: Violations;
  readonly #skillId: string;
  readonly #streams: Stream[];
  readonly #close = new AbortController();
  readonly #followed: Promise<unknown>;

  constructor(
    servers: readonly FaultedServer[],
    skillId: string,
    client: Client,
    caller: Caller,
    violations: Violations,
  ) {
    this.#client = client;
    this.#caller = caller;
    this.#violations = violations;
    this.#skillId = skillId;
    this.#streams = servers.map((server) => ({ server, isOpen: false, heard: 0 }));
    this.#followed = Promise.all(this.#streams.map((stream) => this.#follow(stream)));
  }

  async step(): Promise<void> {
    const input = { id: this.#skillId, instructions: String(performance.now()) };
    await this.#client.call(this.#caller, 'update_skill', input, { door: 'REST' });
  }

  /** A change is heard on each stream. */
  async check(): Promise<void> {
    const deadline = performance.now() + HEARS_MS;
    const before = this.#streams.map(({ heard }) => heard);
    await this.step();
    const deaf = () => this.#streams.filter(({ isOpen, heard }, at) => !isOpen || heard === before[at]);
    while (deaf().length > 0 && performance.now() < deadline) {
      await delay(100);
      // A stream that was being opened heard nothing of the first change.
      if (performance.now() > deadline - HEARS_MS / 2) await this.step();
    }
    for (const { server, isOpen } of deaf())
      this.#violations.found(`the stream at process ${server.at} is ${isOpen ? 'open and hears nothing' : 'not open'}`);
  }

  async close(): Promise<void> {
    this.#close.abort();
    await this.#followed;
  }

  async #follow(stream: Stream): Promise<void> {
    while (!this.#close.signal.aborted) {
      await this.#listen(stream).catch(() => {}); // not to be had at present
      stream.isOpen = false;
      await delay(100);
    }
  }

  async #listen(stream: Stream): Promise<void> {
    const { server } = stream;
    const { starts } = server;
    const message = modern(LISTEN, { notifications: { resourceSubscriptions: [`skill://${this.#skillId}`] } });
    const response = await fetch(`${server.baseUrl}/api/v1/mcp`, {
      method: 'POST',
      headers: {
        ...{ ...credential(this.#caller.key), ...modernHeaders(LISTEN), 'Content-Type': 'application/json' },
        Accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(message),
      signal: this.#close.signal,
    });
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return void (await response.text());
    try {
      // It ends where the store cannot be asked any more whether the key still counts.
      for await (const { data } of eventsOf(response)) {
        stream.isOpen = true;
        if (data.method === 'notifications/resources/updated') stream.heard += 1;
      }
    } catch (error) {
      await delay(EXIT_MS);
      const isKilled = server.starts !== starts || server.pid === undefined || server.isEnding;
      if (!this.#close.signal.aborted && !isKilled)
        this.#violations.found(`the stream at process ${server.at} was cut: ${error}`);
    }
  }
}
