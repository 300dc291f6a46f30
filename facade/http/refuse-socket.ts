import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../../resources/error.ts';
import { errorBodyOf, ToolError } from '../../tools/core/errors.ts';

/** How long a client has to read the answer before its connection ends. */
const LINGER_MS = 1000;

interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
}

const UNREADABLE = 'The request is not HTTP that this server reads; check its first line and the size of its headers.';

export const refusals = {
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
export function refuseSocket(socket: Duplex, { status, code, message }: Refusal): void {
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
export function refuseUnreadable({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (code === 'ECONNRESET') return void socket.destroy();
  const known = { HPE_HEADER_OVERFLOW: refusals.tooLong, ERR_HTTP_REQUEST_TIMEOUT: refusals.late };
  refuseSocket(socket, known[code as keyof typeof known] ?? refusals.unreadable); // other codes are not in the table
}
