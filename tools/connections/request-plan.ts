import { ALL_PATHS, type ConnectionRecord, HEADER_NAME } from '../../resources/connection.ts';
import { globMatcher } from '../core/access/allowlist.ts';
import { invalidMember } from '../core/errors.ts';

export interface RequestInput {
  readonly method: ConnectionRecord['methods'][number];
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[]>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: object | undefined;
  /** A body that is not JSON, or no object. */
  readonly text?: string | undefined;
}

export interface PlannedRequest {
  readonly url: URL;
  readonly method: RequestInput['method'];
  /** Without those of `auth`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

type Limits = Pick<ConnectionRecord, 'name' | 'baseUrl' | 'methods' | 'paths' | 'auth'>;

/** The request within what the connection allows. @throws ToolError (invalid_input) that says what it does not */
export function planRequest(connection: Limits, input: RequestInput): PlannedRequest {
  const { name, methods } = connection;
  const { method, text } = input;
  if (!methods.includes(method)) {
    throw invalidMember('method', `The connection ${name} allows ${methods.join(', ')} alone; use one of these.`);
  }
  if (input.body && text !== undefined) throw invalidMember('text', 'Give either body or text.');
  const body = input.body ? JSON.stringify(input.body) : text;
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    throw invalidMember(input.body ? 'body' : 'text', `A ${method} request has none; leave it out.`);
  }
  const type = input.body ? 'application/json' : 'text/plain; charset=utf-8';
  return {
    url: urlOf(connection, input),
    method,
    headers: {
      accept: 'application/json, text/*;q=0.9, */*;q=0.5',
      ...(body !== undefined && { 'content-type': type }),
      ...headersOf(connection, input.headers),
    },
    body,
  };
}

/** The address of the path below the base, with nothing in it that the other server could read as another place. */
function urlOf({ name, baseUrl, paths }: Limits, { path, query = {} }: RequestInput): URL {
  requirePlainPath(path);
  const url = new URL(baseUrl);
  const { origin } = url;
  const base = url.pathname.replace(/\/+$/, '');
  url.pathname = `${base}${path}`;
  const below = url.pathname.slice(base.length);
  const stays =
    url.origin === origin && url.pathname.startsWith(`${base}/`) && url.username === '' && url.password === '';
  if (!stays) throw invalidMember('path', 'It leaves the base of the connection; write a path below it.');
  if (!paths.some((glob) => matchesPath(glob, below))) {
    throw invalidMember('path', `The connection ${name} allows ${paths.join(', ')} alone; write a path of these.`);
  }
  for (const [key, value] of Object.entries(query)) {
    for (const each of [value].flat()) url.searchParams.append(key, String(each));
  }
  return url;
}

const PATH = 'Write a path that begins with /, without //, backslashes, ?, #, spaces, and . or .. as a part.';

/** Refuses what servers and proxies on the way read in more than one manner, encoded too. @throws ToolError (invalid_input) */
function requirePlainPath(path: string): void {
  const parts = path.split('/').slice(1);
  const isPlain =
    path.startsWith('/') &&
    !/[\\?#\s\p{Cc}]/u.test(path) &&
    path.isWellFormed() &&
    parts.every((part, index) => (part !== '' || index === parts.length - 1) && isPlainPart(part));
  if (!isPlain) throw invalidMember('path', PATH);
}

const MOST_ENCODINGS = 4;

function isPlainPart(part: string): boolean {
  let text = part;
  for (let times = 0; times < MOST_ENCODINGS; times += 1) {
    // Servers cut off parameters such as `..;a`.
    if (/^\.{1,2}(?:;|$)/.test(text) || /[/\\\p{Cc}]/u.test(text)) return false;
    let next: string;
    try {
      next = decodeURIComponent(text);
    } catch {
      return times > 0; // a % that was encoded
    }
    if (next === text) return true;
    text = next;
  }
  return false;
}

/** `*` is any text within one part, `**` as the last part any number of parts. The time is linear in both. */
function matchesPath(glob: string, path: string): boolean {
  if (glob === ALL_PATHS) return true;
  const isOpen = glob.endsWith(ALL_PATHS);
  const wanted = (isOpen ? glob.slice(0, -ALL_PATHS.length) : glob).split('/');
  const parts = path.split('/');
  if (isOpen ? parts.length <= wanted.length : parts.length !== wanted.length) return false;
  return wanted.every((part, index) => globMatcher(part)(parts[index] ?? ''));
}

/** What decides whose request it is, where it goes and how it is framed is never the caller's. */
const RESERVED =
  /^(?:authorization|cookie|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-length|content-encoding|accept-encoding|via|forwarded|x-forwarded-.*|x-real-ip|x-client-ip|true-client-ip|cf-.*|sudo|impersonate-.*|stripe-account|x-amz-.*|destination|x-original-.*|x-rewrite-.*|x-http-.*|x-method-.*|proxy-.*|traceparent|tracestate)$/;

function headersOf({ auth }: Limits, given: RequestInput['headers'] = {}): Record<string, string> {
  const own = auth.header?.toLowerCase() ?? '';
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    const path = `headers.${name.slice(0, 100)}`;
    if (!HEADER_NAME.test(name)) throw invalidMember('headers', 'Holds a name that no header can have; leave it out.');
    if (RESERVED.test(lower) || lower === own)
      throw invalidMember(path, 'The connection sets this itself; leave it out.');
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw invalidMember(path, 'May hold nothing but printable characters of Latin-1; leave out the others.');
    }
    headers[lower] = value;
  }
  return headers;
}
