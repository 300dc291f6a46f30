import { randomUUID } from 'node:crypto';
import { type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import type { Logger } from 'pino';
import type { ErrorCode } from '../../resources/error.ts';
import { errorBodyOf, ToolError } from '../../tools/core/errors.ts';
import { type Config, httpUrl, localUrl } from '../config/config.ts';
import { proxyTest } from '../config/trusted-proxies.ts';
import { createOnUncaught, type OnUncaught } from './answer-errors.ts';
import { Connections } from './connections.ts';
import { createNativeServer } from './native-prototypes.ts';

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
  mount(app: { readonly express: Express; readonly answer: RequestListener; readonly onUncaught: OnUncaught }): void;
  /** Stops accepting requests, lets running calls finish, and ends the rest after 10 s. */
  close(): Promise<void>;
}

/** Begins to listen before the parts of the server are there: until `mount`, `beforeStart` answers every request. */
export async function listen(config: Config, logger: Logger, beforeStart: RequestListener): Promise<HttpServer> {
  const { server, mount } = createNativeServer(beforeStart, createOnUncaught(logger));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('clientError', refuseUnreadable);
  const connections = boundConnections(server, config, logger);
  await begin(server, config);
  const { address, port } = server.address() as AddressInfo; // listening on TCP
  return {
    address: httpUrl(address, port),
    baseUrl: config.baseUrl ?? localUrl(config.host, port),
    connections,
    mount: ({ express, answer, onUncaught }) => mount(express, answer, onUncaught),
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

/** `server.close` alone would wait for connections that become idle later, and for requests that never come whole. */
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

const LINGER_MS = 1000;

interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
}

const UNREADABLE = 'The request is not HTTP that this server reads; check its first line and the size of its headers.';

const refusals = {
  unreadable: { status: 400, code: 'invalid_input', message: UNREADABLE },
  tooLong: { status: 431, code: 'invalid_input', message: UNREADABLE },
  late: { status: 408, code: 'invalid_input', message: 'The request did not come whole in time; send it again.' },
  full: {
    status: 503,
    code: 'unavailable',
    message: 'Too many connections are open; try again, and close those you do not need.',
  },
} as const satisfies Record<string, Refusal>;

/** Answers on a connection whose request cannot reach the app, and ends the connection. */
function refuseSocket(socket: Duplex, { status, code, message }: Refusal): void {
  if (!socket.writable) return void socket.destroy();
  const requestId = randomUUID();
  const body = JSON.stringify(errorBodyOf(new ToolError(code, message), requestId));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-Id: ${requestId}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(code === 'unavailable' ? ['Retry-After: 5'] : []),
    'Connection: close',
  ];
  socket.on('error', () => {}); // the client closed the connection first
  // Further input belongs to the refused request and must not be acted on. Node begins to read a new connection in the next tick in any case.
  process.nextTick(() => socket.pause());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Answers input that is not HTTP, which never reaches the app. */
function refuseUnreadable({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (code === 'ECONNRESET') return void socket.destroy();
  const known = { HPE_HEADER_OVERFLOW: refusals.tooLong, ERR_HTTP_REQUEST_TIMEOUT: refusals.late };
  refuseSocket(socket, known[code as keyof typeof known] ?? refusals.unreadable); // other codes are not in the table
}
