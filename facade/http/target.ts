import type { IncomingMessage } from 'node:http';

export interface Target {
  /** The path as it was sent, also where a proxy sends a whole address. */
  readonly path: string;
  /** Undefined if the target cannot be read, or would be served under another path than it shows (`/agents/../health`). */
  readonly url: URL | undefined;
}

/** Targets of earlier requests. Sharing them is safe, since nothing changes the URL of an exchange. */
const known = new Map<string, Target>();
const MOST_KNOWN = 1000;
const LONGEST_KNOWN = 200;

export function targetOf({ url: sent = '' }: IncomingMessage): Target {
  const found = known.get(sent);
  if (found) return found;
  const path = pathIn(sent);
  const target = { path, url: parse(sent, path) };
  if (known.size >= MOST_KNOWN) known.clear();
  if (sent.length <= LONGEST_KNOWN) known.set(sent, target);
  return target;
}

export function isBelowApi({ path }: Target): boolean {
  return path.startsWith('/api/') || path === '/api';
}

function parse(sent: string, path: string): URL | undefined {
  try {
    const url = new URL(sent.startsWith('/') ? `http://localhost${sent}` : sent);
    return path === url.pathname ? url : undefined;
  } catch {
    return undefined;
  }
}

function pathIn(sent: string): string {
  const [address = ''] = sent.split(/[?#]/, 1);
  return address.startsWith('/') ? address : address.slice(address.indexOf('/', address.indexOf('//') + 2));
}

/** Media types that an `Accept` header names, in lower case, without those that it rules out by `q=0`. */
export function acceptedTypes(accept = ''): string[] {
  return accept
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
    .filter(([, ...parameters]) => !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)))
    .map(([type = '']) => type);
}

export function namesEvents(accept: string | undefined): boolean {
  return acceptedTypes(accept).includes('text/event-stream');
}

/** Whether a person opened the address in a browser: programs ask for JSON or events. */
export function isBrowsing({ method = '', headers }: IncomingMessage): boolean {
  return /^(GET|HEAD)$/.test(method) && acceptedTypes(headers.accept).includes('text/html');
}
