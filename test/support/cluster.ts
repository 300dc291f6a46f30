import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { pino } from 'pino';
import { readConfig } from '../../facade/config/config.ts';
import { prepareStore } from '../../facade/launch/first-start.ts';
import { startServer } from '../../facade/server.ts';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { closedAtEnd } from './at-end.ts';
import { onLoopback } from './loopback.ts';
import { testDatabase } from './postgres.ts';

/** What stands in for a process: a server with a store of its own on the database. */
export interface Member {
  readonly baseUrl: string;
  readonly adminKey: string;
  readonly store: Store;
  close(): Promise<void>;
}

interface MemberOptions {
  readonly database: string;
  readonly env?: Record<string, string>;
  readonly clock?: () => number;
  /** The time of day. */
  readonly now?: () => Date;
}

export const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');

export async function startMember({ database, env, clock, now }: MemberOptions): Promise<Member> {
  const config = readConfig({ PORT: '0', SECRETS_KEY, DATA_DIR: '/nonexistent', LOG_LEVEL: 'silent', ...env });
  const store = await openPostgresStore({ url: database, poolSize: 8, clock, now });
  let stop = async () => {};
  const close = closedAtEnd(async () => {
    await stop();
    await store.close();
  });
  try {
    const { made } = await prepareStore(store, config);
    const server = await startServer(config, store, pino({ level: 'silent' }));
    stop = () => server.close();
    return { baseUrl: server.address, adminKey: made?.admin ?? '', store, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A clock that goes on by itself until it is stopped. */
class StoppableClock {
  #ahead = 0;
  #stoppedAt: number | undefined;

  readonly now = () => this.#stoppedAt ?? performance.now() + this.#ahead;

  stop(): void {
    this.#stoppedAt = Math.ceil(this.now()); // so that sums are exact
  }

  pass(ms: number): void {
    if (this.#stoppedAt === undefined) this.#ahead += ms;
    else this.#stoppedAt += ms;
  }

  goOn(): void {
    if (this.#stoppedAt !== undefined) this.#ahead = this.#stoppedAt - performance.now();
    this.#stoppedAt = undefined;
  }
}

/** Two processes on one database, and an address whose requests go to them in turn. */
export interface Cluster {
  readonly database: string;
  readonly members: readonly [Member, Member];
  /** How the second process hears of the first. */
  readonly hearing: DatabaseProxy;
  /** By which the second process knows how old is what it heard. */
  readonly clock: StoppableClock;
  /** The address, with the admin key. */
  readonly balanced: { readonly baseUrl: string; readonly adminKey: string };
  close(): Promise<void>;
}

export async function startCluster(env: Record<string, string> = {}): Promise<Cluster> {
  const { url: database, drop } = await testDatabase();
  const targets: string[] = [];
  const [balancer, hearing] = await Promise.all([startBalancer(targets), startDatabaseProxy(database)]);
  const clock = new StoppableClock();
  const shared = { BASE_URL: balancer.url, ...env };
  const first = await startMember({ database, env: shared });
  const second = await startMember({ database: hearing.url, env: shared, clock: clock.now });
  targets.push(first.baseUrl, second.baseUrl);
  const { adminKey } = first;
  return {
    database,
    members: [first, { ...second, adminKey }],
    hearing,
    clock,
    balanced: { baseUrl: balancer.url, adminKey },
    async close() {
      hearing.heal();
      await balancer.close();
      await Promise.all([first.close(), second.close()]);
      await hearing.close();
      await drop();
    },
  };
}

/** Sends each request to the next of the targets, whoever sends it. */
async function startBalancer(targets: readonly string[]) {
  let count = 0;
  const server = createServer((request, response) => {
    const target = new URL(targets[count % targets.length] ?? '');
    count += 1;
    const { method, url: path, headers } = request;
    const passed = send({ host: target.hostname, port: target.port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  });
  return onLoopback(server);
}

/** The name that the connection by which a process hears of the others gives itself. */
const HEARING = 'agent-admin changes';

export interface DatabaseProxy {
  readonly url: string;
  /** From now on, nothing reaches the connections by which processes hear of each other, and nothing comes from them. */
  freeze(): void;
  /** From now on, there are no such connections. */
  cut(): void;
  heal(): void;
  /** From now on, nothing passes on the connections that there are, or on others too, and none of them ends. */
  swallow(which: 'those there are' | 'all'): void;
  /** From now on, all bytes wait, of new connections too, until `resume`. */
  stall(): void;
  resume(): void;
  /** How many connections there were so far. */
  readonly connections: number;
  /** Ends all connections. New ones lead to this database. */
  lead(database: string): void;
  close(): Promise<void>;
}

/** Stands before a database. */
export async function startDatabaseProxy(database: string): Promise<DatabaseProxy> {
  let target = new URL(database);
  let state: 'open' | 'frozen' | 'cut' = 'open';
  const sockets = new Set<Socket>();
  const hearing = new Set<Socket>();
  const swallowed = new WeakSet<Socket>();
  let swallowsAll = false;
  let isStalled = false;
  let connections = 0;
  const pipe = (from: Socket, to: Socket) =>
    from.on('data', (bytes) => {
      if (swallowsAll || swallowed.has(from)) return;
      if (state === 'open' || !hearing.has(from)) to.write(bytes);
    });
  const server = createTcpServer((client) => {
    connections += 1;
    const upstream = connect({ host: target.hostname, port: Number(target.port) });
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}));
    client.once('data', (startup) => {
      if (startup.includes(HEARING)) for (const socket of [client, upstream]) hearing.add(socket);
      if (hearing.has(client) && state === 'cut') client.destroy();
      else if (!swallowsAll && (!hearing.has(client) || state === 'open')) upstream.write(startup);
      pipe(client, upstream);
    });
    pipe(upstream, client);
    if (isStalled) client.pause();
    client.on('close', () => {
      sockets.delete(client);
      upstream.destroy();
    });
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(database);
  url.port = String((server.address() as AddressInfo).port); // listening on TCP
  const swallow = (which: 'those there are' | 'all') => {
    swallowsAll = which === 'all';
    for (const socket of sockets) swallowed.add(socket);
  };
  const become = (next: typeof state) => {
    state = next;
    swallowsAll = false;
    for (const socket of sockets) if (swallowed.has(socket)) socket.destroy();
    if (state !== 'frozen') for (const socket of hearing) socket.destroy();
    if (state !== 'frozen') hearing.clear();
  };
  const close = closedAtEnd(async () => {
    for (const socket of sockets) socket.destroy();
    const closed = once(server, 'close');
    server.close();
    await closed;
  });
  return {
    url: url.href,
    freeze: () => become('frozen'),
    cut: () => become('cut'),
    heal: () => become('open'),
    swallow,
    stall: () => {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    get connections() {
      return connections;
    },
    lead: (next) => {
      target = new URL(next);
      for (const socket of sockets) socket.destroy();
    },
    close,
  };
}
