import { IncomingMessage } from 'node:http';
import type { Addresses } from './addresses.ts';

export interface Changes {
  /** Path and query. */
  readonly target?: string;
  readonly form?: URLSearchParams;
}

/** The request as the library is to see it: sent to BASE_URL whatever Host and forwarded headers say, with this target and body. */
export function rewriteRequest(
  request: IncomingMessage,
  { base, prefix }: Addresses,
  { target, form }: Changes,
): IncomingMessage {
  const copy = new IncomingMessage(request.socket);
  const body = Buffer.from(form?.toString() ?? '');
  const { 'content-encoding': _, 'transfer-encoding': __, forwarded: ___, ...headers } = request.headers;
  copy.method = request.method ?? 'GET';
  copy.url = target ?? request.url ?? '/';
  copy.httpVersion = request.httpVersion;
  copy.headers = {
    ...headers,
    host: base.host,
    'x-forwarded-host': base.host,
    'x-forwarded-proto': base.protocol.slice(0, -1),
    'content-length': String(body.length),
  };
  // Express's name for the path that a proxy took away; the library puts it in front of its paths.
  Object.assign(copy, { baseUrl: prefix });
  if (body.length > 0) copy.push(body);
  copy.push(null);
  // Else its end would look like a broken connection, which would be closed.
  copy.complete = true;
  return copy;
}
