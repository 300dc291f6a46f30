import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { LISTEN, SERVED_METHODS } from '../../../facade/mcp/protocol-versions.ts';
import { inEra } from '../../facade/mcp-requests.ts';
import { startMcpServer } from '../../facade/mcp-server.ts';
import type { Target, World } from '../target.ts';
import { isSendable } from './wire.ts';

/** A stream that says nothing is followed for no longer. */
const SILENT_MS = 100;
/** A tool of tests that waits until its caller goes away. */
const WAITS = /wait|listen/;
const COMPARED = [
  'content-type',
  'cache-control',
  'mcp-session-id',
  'allow',
  'idempotency-replayed',
  'www-authenticate',
];

/** What the door checks before the endpoint is asked. */
const FIXED = /^(authorization|content-type|content-encoding)$/i;

interface Said {
  readonly status: number;
  readonly headers: readonly (string | undefined)[];
  readonly text: string;
  /** A stream that was left. */
  readonly isCut: boolean;
}

/** Headers and a message, as `Name: value` lines, an empty line and the body. */
function seed(era: 'legacy' | 'modern', method: string, params: object, more = ''): string {
  const { message, headers } = inEra(era, method, { ...params });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  return `${more}${lines.join('')}\n${JSON.stringify(message)}`;
}

const calls: readonly (readonly [string, object])[] = [
  ...SERVED_METHODS.filter((method) => method !== LISTEN).map((method) => [method, {}] as const),
  ['tools/call', { name: 'list_agents', arguments: { limit: 2, status: 'active', includeTotal: true } }],
  ['tools/call', { name: 'get_agent', arguments: { id: 'agt_none' }, _meta: { progressToken: 1 } }],
  ['tools/call', { name: 'echo', arguments: { text: 'a', more: { a: [1] } }, _meta: { idempotencyKey: 'a' } }],
  ['initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }],
  ['resources/read', { uri: 'agent-admin://agents/agt_none' }],
  ['prompts/get', { name: 'review_agent', arguments: { agentId: 'a' } }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'a' }, argument: { name: 'a', value: 'b' } }],
  ['logging/setLevel', { level: 'debug' }],
];

/** Messages at the MCP endpoint: the direct path and the SDK must give the same answer. */
export const mcp: Target = {
  about: 'JSON-RPC messages, by the direct path and the SDK',
  sources: ['facade/mcp', 'resources/agent.ts', 'test/facade/mcp-random-requests.ts', 'test/facade/mcp-requests.ts'],
  atOnce: 8,
  seeds: [
    ...calls.map(([method, params]) => seed('legacy', method, params)),
    ...calls.map(([method, params]) => seed('modern', method, params)),
    seed(
      'legacy',
      'tools/call',
      { name: 'get_agent', arguments: {} },
      'Accept: text/event-stream\nX-Query: ?tools=get_*\n',
    ),
  ],
  async open(): Promise<World> {
    const server = await startMcpServer();
    const agent = new Agent({ keepAlive: true });
    return {
      async run(input) {
        if (WAITS.test(input.toString('latin1'))) return;
        const asked = asking(input);
        const [direct, sdk] = await Promise.all([
          answerOf(server.url, asked, agent),
          answerOf(server.sdkUrl, asked, agent),
        ]);
        assert.ok(direct.status < 500, direct.text);
        if (direct.text.startsWith('{')) JSON.parse(direct.text);
        if (isSame(direct, sdk)) return;
        // What changes by itself, such as a time, cannot be compared.
        if (!isSame(direct, await answerOf(server.url, asked, agent))) return;
        assert.deepEqual(direct, sdk);
      },
      settled() {
        const errors = server.errors.splice(0);
        if (errors.length > 0) throw errors[0];
      },
      async close() {
        agent.destroy();
        await server.close();
      },
    };
  },
};

interface Asking {
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function asking(input: Buffer): Asking {
  const end = input.indexOf('\n\n');
  const headers: Record<string, string> = {};
  for (const line of input.toString('latin1', 0, Math.max(0, end)).split('\n')) {
    const [, name = '', value = ''] = /^([\w-]+): ?(.*)$/s.exec(line) ?? [];
    if (!FIXED.test(name) && isSendable(name, value)) headers[name.toLowerCase()] = value;
  }
  const { 'x-query': query = '', ...others } = headers;
  const isQuery = /^\?[\w=&%*,.-]*$/.test(query);
  return { query: isQuery ? query : '', headers: others, body: input.subarray(end < 0 ? 0 : end + 2) };
}

function answerOf(url: string, { query, headers, body }: Asking, agent: Agent): Promise<Said> {
  const fixed = { Authorization: 'Bearer reader', 'Content-Length': String(body.length) };
  return new Promise((resolve, reject) => {
    const asked = request(
      url + query,
      { method: 'POST', agent, headers: { 'content-type': 'application/json', ...headers, ...fixed } },
      (response) => {
        let text = '';
        const compared = COMPARED.map((name) => [response.headers[name]].flat().join());
        const done = (isCut: boolean) => resolve({ status: response.statusCode ?? 0, headers: compared, text, isCut });
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.once('end', () => done(false));
        response.setTimeout(SILENT_MS, () => response.destroy());
        response.once('close', () => done(true));
        response.on('error', () => {}); // it was left
      },
    );
    asked.once('error', reject);
    asked.end(body);
  });
}

function isSame(one: Said, other: Said): boolean {
  const isAlike = one.status === other.status && one.headers.join() === other.headers.join();
  return isAlike && (one.isCut || other.isCut || dataOf(one) === dataOf(other));
}

/** Members in one order, and events without what else a stream says. */
function dataOf({ text, headers: [type] }: Said): string {
  const parts = type?.startsWith('text/event-stream')
    ? text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
    : [text];
  return parts.map((part) => (part.startsWith('{') ? JSON.stringify(sorted(JSON.parse(part))) : part)).join('\n');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, item]) => [name, sorted(item)]),
  );
}
