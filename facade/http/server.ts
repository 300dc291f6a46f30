import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import type { Logger } from 'pino';
import { type Config, httpUrl, localUrl } from '../config/config.ts';
import { proxyTest } from '../config/trusted-proxies.ts';
import { Connections } from './connections.ts';
import { createNativeServer } from './native-prototypes.ts';
import { refusals, refuseSocket, refuseUnreadable } from './refuse-socket.ts';
import type { OnUncaught } from './uncaught.ts';

/** How long running calls may take to finish once the server stops. */
export const SHUTDOWN_MS = 10_000;
/** How long a request that was on its way then may take to come whole. */
const WAITING_MS = 1000;
/** Longer than proxies and clients usually keep idle connections, so that they close first. */
export const KEEP_ALIVE_MS = 75_000;

export interface HttpServer {
  /** The address that the server listens on. */
  readonly address: string;
  /** The URL that clients use. */
  readonly baseUrl: string;
  readonly connections: Connections;
  mount(app: { readonly express: Express; readonly answer: RequestListener }): void;
  /** Stops accepting requests, lets running calls finish, and ends the rest after 10 s. */
  close(): Promise<void>;
}

/** Begins to listen before the parts of the server are there: until `mount`, `beforeStart` answers every request. */
export async function listen(
  config: Config,
  logger: Logger,
  answering: { readonly beforeStart: RequestListener; readonly onUncaught: OnUncaught },
): Promise<HttpServer> {
  const { server, mount } = createNativeServer(answering.beforeStart, answering.onUncaught);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('clientError', refuseUnreadable);
  const connections = boundConnections(server, config, logger);
  await begin(server, config);
  const { address, port } = server.address() as AddressInfo; // listening on TCP
  return {
    address: httpUrl(address, port),
    baseUrl: config.baseUrl ?? localUrl(config.host, port),
    connections,
    mount: ({ express, answer }) => mount(express, answer),
    close: () => drain(server, connections),
  };
}

function boundConnections(server: Server, config: Config, logger: Logger): Connections {
  const { maxConnections } = config;
  return new Connections(server, {
    ...config,
    isTrusted: proxyTest(config.trustedProxies),
    refuse: (socket, why) => refuseSocket(socket, refusals[why]),
    onFull: () => logger.warn({ maxConnections }, 'as many connections are open as MAX_CONNECTIONS allows'),
  });
}

function begin(server: Server, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/**
 * `server.close` alone would wait for keep-alive connections that become idle later, and for strangers whose request never comes whole.
 */
async function drain(server: Server, connections: Connections): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const waiting = setTimeout(() => connections.endWaiting(), WAITING_MS);
  const deadline = setTimeout(() => server.closeAllConnections(), SHUTDOWN_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(waiting);
  clearTimeout(deadline);
}
