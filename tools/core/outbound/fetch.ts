import { type IncomingMessage, Agent as PlainAgent, type RequestOptions, request as requestPlain } from 'node:http';
import { request as requestSecure, Agent as SecureAgent } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { outgoingTrace } from '../telemetry/span.ts';
import { checkedLookup, hostOf, refusalOf } from './ip-addresses.ts';
import { answerWith, cutBody, type Fault, limitBody, limitEvents, limitFile, type Replacement } from './limits.ts';

interface FetchOptions {
  readonly privateAddresses: boolean;
  /** The largest body in bytes. In a stream of events, the largest event. */
  readonly mostBytes: number;
  /** Bodies are files, not messages, so that only their size is limited. */
  readonly files?: true;
  /** Of a body, what fits is passed on, and then the connection ends. It may be of any type, and the reader knows that more came by one byte more. */
  readonly cuts?: true;
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

interface GuardedFetch {
  readonly fetch: Fetch;
  /** The `WWW-Authenticate` header of the last answer, where that was 401; empty where the 401 had none. */
  challenge(): string | undefined;
  close(): void;
}

/** A `fetch` for untrusted servers: only to the address that was checked, never a link-local one, no redirects, and never more of an answer than is allowed. */
export function createFetch({ privateAddresses, mostBytes, files, cuts }: FetchOptions): GuardedFetch {
  // Agents of its own, because the shared ones may reuse a socket to an address that was not checked.
  const agents = { 'http:': new PlainAgent({ keepAlive: true }), 'https:': new SecureAgent({ keepAlive: true }) };

  const lookup = checkedLookup(privateAddresses);
  let challenge: string | undefined;
  const pending = new Set<Pending>();

  async function fetch(target: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = new URL(target);
    const host = hostOf(url);
    const refused = isIP(host) ? refusalOf(host, [host], privateAddresses) : undefined;
    if (refused) throw refused;
    const body = typeof init.body === 'string' ? init.body : '';
    const cancel = new AbortController();
    const signal = init.signal ? AbortSignal.any([init.signal, cancel.signal]) : cancel.signal;
    const options: RequestOptions = {
      agent: url.protocol === 'https:' ? agents['https:'] : agents['http:'],
      method: init.method ?? 'GET',
      headers: { ...Object.fromEntries(new Headers(init.headers)), ...outgoingTrace() },
      signal,
      lookup,
    };
    const own: Pending = { body, cancel };
    pending.add(own);
    const response = await exchange(url, options, body).catch((error: unknown) => {
      pending.delete(own);
      throw error;
    });
    response.once('close', () => pending.delete(own));
    if (!cuts && !files) endCancelled(body, pending); // others send no messages of the SDK
    challenge = response.statusCode === 401 ? (response.headers['www-authenticate'] ?? '') : undefined;
    if (files) return fileAnswer(response, mostBytes);
    if (cuts) return streamed(response, cutBody(response, mostBytes));
    return answerOf(response, mostBytes, (fault) => faultAnswer(init.body, fault));
  }

  return {
    fetch,
    challenge: () => challenge,
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

interface Pending {
  readonly body: string;
  readonly cancel: AbortController;
}

/** After a server was told that a request is cancelled, the answer to that request is not awaited. */
function endCancelled(body: string, pending: ReadonlySet<Pending>): void {
  if (body.length > LONGEST_CANCELLATION || !body.includes(CANCELLED)) return;
  const { method, params } = JSON.parse(body) as { method?: string; params?: { requestId?: unknown } }; // a message of the SDK
  if (method !== CANCELLED) return;
  for (const { body: asked, cancel } of pending) {
    // The SDK writes the id last. Parsing a large body again would take too long.
    const [, id] = /"id":(\d+|"[^"]*")\}$/.exec(asked.slice(-LONGEST_ID)) ?? [];
    if (id !== undefined && id === JSON.stringify(params?.requestId)) cancel.abort();
  }
}

const CANCELLED = 'notifications/cancelled';
const LONGEST_CANCELLATION = 10_000;
const LONGEST_ID = 200;

function exchange(url: URL, options: RequestOptions, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestSecure : requestPlain;
    const request = send(url, options, resolve);
    request.on('error', reject);
    request.on('socket', hearErrors);
    // Node.js frames the body of a DELETE by itself in no way: what follows the head would be read as another request.
    if (body !== '') request.setHeader('Content-Length', Buffer.byteLength(body));
    request.end(body === '' ? undefined : body);
  });
}

/** Without this listener, an aborted request's socket error would end the process. The reader of the answer gets it in any case. */
function hearErrors(socket: Socket): void {
  if (heard.has(socket)) return;
  heard.add(socket);
  socket.on('error', ignore);
}

const heard = new WeakSet<Socket>();
const ignore = () => {};

function answerOf(response: IncomingMessage, mostBytes: number, instead: Replacement): Response {
  const events = response.headers['content-type']?.toLowerCase().startsWith('text/event-stream') ?? false;
  return streamed(response, (events ? limitEvents : limitBody)(response, mostBytes, instead));
}

function streamed(response: IncomingMessage, chunks: AsyncGenerator<Buffer>): Response {
  const status = response.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers.set(name, String(value));
  }
  if (BODILESS.has(status)) {
    response.resume();
    return new Response(null, { status, headers });
  }
  const body = Readable.from(chunks);
  body.on('close', () => response.destroy());
  // The two libraries have different types for the same web stream.
  return new Response(Readable.toWeb(body) as ReadableStream, { status, headers });
}

function fileAnswer(response: IncomingMessage, mostBytes: number): Response {
  const body = Readable.from(limitFile(response, mostBytes));
  body.on('close', () => response.destroy());
  const { location = '' } = response.headers;
  const status = BODILESS.has(response.statusCode ?? 0) ? 502 : (response.statusCode ?? 502);
  // The two libraries have different types for the same web stream.
  return new Response(Readable.toWeb(body) as ReadableStream, { status, headers: { location } });
}

function faultAnswer(body: RequestInit['body'], fault: Fault): string | undefined {
  // A message of the SDK, not a request to a token provider.
  const { id } = typeof body === 'string' && body.startsWith('{') ? (JSON.parse(body) as { id?: string | number }) : {};
  return id === undefined ? undefined : JSON.stringify(answerWith(fault, id));
}

const BODILESS = new Set([204, 205, 304]);
