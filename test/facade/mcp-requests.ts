import { MODERN_VERSION } from '../../facade/mcp/protocol-versions.ts';
import { send } from '../support/http.ts';

interface RawAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly headers: Headers;
  readonly text: string;
  // Tests look into bodies freely.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly body: any;
}

interface RawRequest {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** A POST with no more headers than a plain script sends; a text goes as it is. */
export async function post(url: string, message: unknown, options: RawRequest = {}): Promise<RawAnswer> {
  const { token = 'admin', headers = {}, signal } = options;
  const answer = await send(url, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
    signal,
  });
  const type = answer.headers.get('content-type');
  return { ...answer, type, body: type === 'application/json' ? JSON.parse(answer.text) : undefined };
}

export type Params = Readonly<Record<string, unknown>>;

export function legacy(method: string, params?: Params, id: string | number = 1) {
  return { jsonrpc: '2.0', id, method, ...(params && { params }) };
}

export const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': MODERN_VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A request of revision 2026-07-28, with members of `_meta` besides those it must have. */
export function modern(method: string, params: Params = {}, meta: Params = {}, id: string | number = 1) {
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...modernMeta, ...meta } } };
}

export function modernHeaders(method: string, name?: string): Record<string, string> {
  return {
    'MCP-Protocol-Version': MODERN_VERSION,
    'Mcp-Method': method,
    ...(name !== undefined && { 'Mcp-Name': name }),
  };
}

export function inEra(era: 'legacy' | 'modern', method: string, params: Params = {}) {
  if (era === 'legacy') return { message: legacy(method, params), headers: {} };
  const named = params.name ?? params.uri;
  const name = typeof named === 'string' ? named : undefined;
  return { message: modern(method, params), headers: modernHeaders(method, name) };
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages freely
export function eventsIn(text: string): any[] {
  return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
}
