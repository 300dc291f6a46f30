import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { pino } from 'pino';
import { type Config, readConfig } from '../../facade/config/config.ts';
import { prepareStore } from '../../facade/launch/first-start.ts';
import { type Fixtures, startServer } from '../../facade/server.ts';
import type { Files } from '../../store/lowdb/files/files.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { closedAtEnd } from './at-end.ts';

/** Real time, which a test moves on. */
export class TestClock {
  #ahead = 0;
  readonly now = () => new Date(Date.now() + this.#ahead);

  pass(ms: number): void {
    this.#ahead += ms;
  }

  /** So much later than now, as records hold times. */
  in(ms: number): string {
    return new Date(this.now().getTime() + ms).toISOString();
  }
}

/** A real server on a free port of loopback with a store of its own. */
export interface TestServer {
  readonly baseUrl: string;
  /** Secret of the admin key of the first start. */
  readonly adminKey: string;
  readonly store: Store;
  /** Where the store keeps its files. */
  readonly folder: string;
  /** The time as it is for the server. */
  readonly clock: TestClock;
  /** What was logged, one parsed line each. */
  readonly log: readonly Record<string, unknown>[];
  /** Stops it; its store stays open. */
  stop(): Promise<void>;
  /** Stops it and removes its data. */
  close(): Promise<void>;
}

/** `env`: fields of the environment as an operator sets them; `fill` writes into the store before the server starts on it; `files`: those of the store. */
export async function startTestServer(
  env: Record<string, string> = {},
  fill?: (store: Store) => Promise<void>,
  fixtures?: Fixtures,
  files?: Files,
  storeClock?: { now(): Date },
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-admin-'));
  const config: Config = readConfig({ PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'debug', ...env });
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: config.logLevel }, { write: (line: string) => log.push(JSON.parse(line)) });
  const clock = new TestClock();
  const store = await openLowdbStore({ folder, now: (storeClock ?? clock).now, ...(files && { files }) });
  let stop = async () => {};
  const close = closedAtEnd(async () => {
    await stop();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  await fill?.(store);
  const { made } = await prepareStore(store, config);
  const server = await startServer(config, store, logger, { now: clock.now, ...fixtures });
  stop = closedAtEnd(() => server.close());
  return {
    baseUrl: server.baseUrl,
    adminKey: made?.admin ?? '',
    store,
    folder,
    clock,
    log,
    stop,
    close,
  };
}

/** Such a server for the tests of a file: started before them, closed after them. Hooks of the file itself do not wait for it. */
export function serverForTests(...options: Parameters<typeof startTestServer>): TestServer {
  let started: TestServer | undefined;
  before(async () => {
    started = await startTestServer(...options);
  });
  after(() => started?.close());
  const running = () => started ?? assert.fail('The server is there from the first test on.');
  return {
    get baseUrl() {
      return running().baseUrl;
    },
    get adminKey() {
      return running().adminKey;
    },
    get store() {
      return running().store;
    },
    get folder() {
      return running().folder;
    },
    get clock() {
      return running().clock;
    },
    get log() {
      return running().log;
    },
    stop: () => running().stop(),
    close: () => running().close(),
  };
}
