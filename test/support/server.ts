import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { type Config, readConfig } from '../../facade/config/config.ts';
import { prepareStore } from '../../facade/launch/first-start.ts';
import { createLogger } from '../../facade/launch/logger.ts';
import { auditSecretOf } from '../../facade/launch/open-store.ts';
import { type Fixtures, startServer } from '../../facade/server.ts';
import type { FileSystem } from '../../store/lowdb/files/file-system.ts';
import type { Store } from '../../store/port.ts';
import { closedAtEnd } from './at-end.ts';
import { copyData, dataFolder, envOfStore, openStoreIn, removeFolder } from './store.ts';

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

export interface TestServerOptions {
  /** Writes into the store before the server starts on it. */
  readonly fill?: (store: Store) => Promise<void>;
  readonly fixtures?: Fixtures;
  readonly files?: FileSystem;
  /** A folder that a closed store has left, with a copy of which the server begins. */
  readonly copyOf?: string;
}

/** `env`: fields of the environment as an operator sets them. */
export async function startTestServer(
  env: Record<string, string> = {},
  { fill, fixtures, files, copyOf }: TestServerOptions = {},
): Promise<TestServer> {
  const folder = await dataFolder();
  if (copyOf !== undefined) await copyData(copyOf, folder);
  const config: Config = readConfig({ PORT: '0', DATA_DIR: folder, LOG_LEVEL: 'debug', ...envOfStore, ...env });
  const log: Record<string, unknown>[] = [];
  const logger = createLogger(config, { write: (line: string) => void log.push(JSON.parse(line)) });
  const clock = new TestClock();
  const store = await openStoreIn(folder, {
    now: clock.now,
    ...(files ? { files } : { auditSecret: auditSecretOf(config) }),
  });
  let stop = async () => {};
  const close = closedAtEnd(async () => {
    await stop();
    await store.close();
    await removeFolder(folder);
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
