import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import type { Logger } from 'pino';
import { type Config, httpUrl, localUrl } from '../config/config.ts';
import { proxyTest } from './caller-address.ts';
import { Connections } from './connections.ts';
import { createNativeServer } from './native-prototypes.ts';
import { refusals, refuseSocket, refuseUnreadable } from './refuse-socket.ts';

/** How long running calls may take to finish once the server stops. */
const SHUTDOWN_MS = 10_000;
/** Longer than proxies usually keep idle connections, and than clients are busy with something else: who closes first must be them. */
const KEEP_ALIVE_MS = 75_000;

export interface HttpServer {
  /** Where it listens. */
  readonly address: string;
  /** Where clients find it. */
  readonly baseUrl: string;
  readonly connections: Connections;
  mount(app: Express, answer: RequestListener): void;
  /** Stops accepting, lets running calls finish, ends after 10 s what is left. */
  close(): Promise<void>;
}

/** Listens with nobody there to answer yet. */
export async function listen(config: Config, logger: Logger): Promise<HttpServer> {
  const { server, mount } = createNativeServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('clientError', refuseUnreadable);
  const connections = boundConnections(server, config, logger);
  await begin(server, config);
  const { address, port } = server.address() as AddressInfo; // listening on TCP
  return {
    address: httpUrl(address, port),
    baseUrl: config.baseUrl ?? localUrl(config.host, port),
    connections,
    mount,
    close: () => drain(server),
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

/** `server.close` alone would wait for keep-alive connections that fall idle after it. */
async function drain(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const deadline = setTimeout(() => server.closeAllConnections(), SHUTDOWN_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(deadline);
}
