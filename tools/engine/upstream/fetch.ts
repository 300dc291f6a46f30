import { type IncomingMessage, Agent as PlainAgent, type RequestOptions, request as requestPlain } from 'node:http';
import { request as requestSecure, Agent as SecureAgent } from 'node:https';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { AddressRefused, hostOf, isPublic, publicLookup } from './addresses.ts';
import { type Fault, type Instead, limitBody, limitEvents } from './limits.ts';
import { answerWith } from './lines.ts';

/** How an HTTP request to an upstream is made. */
export interface FetchOptions {
  /** Private and local addresses may be connected to. */
  readonly privateAddresses: boolean;
  /** Bytes of a body, or of one event where it is a stream of those. */
  readonly mostBytes: number;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` for servers that are not trusted: it connects to the very address that was checked, follows no redirect, and never holds
 * more of an answer than it may have.
 */
export function createFetch({ privateAddresses, mostBytes }: FetchOptions): { fetch: Fetch; close(): void } {
  // Of its own, since the sockets of the common ones may go to addresses that nobody checked.
  const agents = { 'http:': new PlainAgent({ keepAlive: true }), 'https:': new SecureAgent({ keepAlive: true }) };

  async function fetch(target: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = new URL(target);
    const host = hostOf(url);
    if (!privateAddresses && isIP(host) && !isPublic(host)) throw new AddressRefused(host);
    const { signal } = init;
    const options: RequestOptions = {
      agent: url.protocol === 'https:' ? agents['https:'] : agents['http:'],
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(signal && { signal }),
      ...(!privateAddresses && { lookup: publicLookup }),
    };
    const response = await exchange(url, options, init.body);
    return answerOf(response, mostBytes, (fault) => faultAnswer(init.body, fault));
  }

  return {
    fetch,
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function exchange(url: URL, options: RequestOptions, body: RequestInit['body']): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestSecure : requestPlain;
    const request = send(url, options, resolve);
    request.on('error', reject);
    // The SDK sends JSON text or nothing.
    request.end(typeof body === 'string' ? body : undefined);
  });
}

function answerOf(response: IncomingMessage, mostBytes: number, instead: Instead): Response {
  const status = response.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers.set(name, String(value));
  }
  if (BODILESS.has(status)) {
    response.resume();
    return new Response(null, { status, headers });
  }
  const events = headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') ?? false;
  const body = Readable.from((events ? limitEvents : limitBody)(response, mostBytes, instead));
  body.on('close', () => response.destroy());
  // The two libraries' types of one web stream differ.
  return new Response(Readable.toWeb(body) as unknown as ReadableStream, { status, headers });
}

/** The error that stands for an answer to this request. */
function faultAnswer(body: RequestInit['body'], fault: Fault): string | undefined {
  const { id } = typeof body === 'string' ? (JSON.parse(body) as { id?: string | number }) : {}; // a message of the SDK
  return id === undefined ? undefined : JSON.stringify(answerWith(fault, id));
}

/** Statuses whose answers have no body. */
const BODILESS = new Set([204, 205, 304]);
