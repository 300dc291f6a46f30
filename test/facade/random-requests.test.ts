import assert from 'node:assert/strict';
import { request } from 'node:http';
import { it } from 'node:test';
import { routes } from '../../facade/routes.ts';
import { errorBody, errorStatus } from '../../resources/error.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { serverForTests } from '../support/server.ts';

const server = serverForTests();

/** The request as it is sent; no client corrects it. */
interface Sent {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function ask({ method, target, headers, body }: Sent): Promise<{ status: number; text: string; id: unknown }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.baseUrl);
    const own = { authorization: `Bearer ${server.adminKey}`, 'content-length': Buffer.byteLength(body) };
    const sent = request({ hostname, port, method, path: target, headers: { ...own, ...headers } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, id: answer.headers['x-request-id'] }));
    });
    sent.on('error', reject).end(body);
  });
}

const segment = fc.oneof(
  fc.constantFrom(
    ...['', '.', '..', '%2e%2e', '%2F', '%00', '%zz', '%', '%E0%A4', '%ud800', '__proto__', 'constructor'],
    'none',
  ),
  fc.constantFrom('agt_none', '%F0%9F%98%80', '~', ';a=1', '\\', '//', 'x'.repeat(300), '0', '-1', '*', '{id}'),
);
const path = fc
  .tuple(fc.constantFrom(...routes.map((route) => route.path)), segment, fc.nat(5), fc.boolean())
  .map(([template, other, at, replaces]) => {
    const parts = template.replace(/\{\w+\}/g, 'none').split('/');
    parts.splice(at + 1, replaces ? 1 : 0, other);
    return parts.join('/');
  });
const name = fc.constantFrom(
  'limit',
  'cursor',
  'includeTotal',
  'q',
  'status',
  'types',
  'from',
  '__proto__',
  'x',
  '',
  '%00',
);
const value = fc.constantFrom(
  '',
  '1',
  '-0',
  '1e400',
  'true',
  'null',
  '%00',
  '%ED%A0%80',
  '%',
  '9'.repeat(400),
  '[]',
  '..',
);
const query = fc
  .array(fc.tuple(name, value), { maxLength: 3 })
  .map((pairs) => (pairs.length > 0 ? `?${pairs.map((pair) => pair.join('=')).join('&')}` : ''));
const body = fc.oneof(
  fc.constantFrom(
    ...['', '{}', '[]', 'null', '{', '"x"', '{"a":1e400}', '{"__proto__":{"a":1}}', '\ufeff{}'],
    '{"name":"\\ud800"}',
  ),
  fc.constantFrom(
    '['.repeat(100_000),
    `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
    '{"id":1,"id":2}',
    '\0',
    '{"name":"a\\u0000"}',
  ),
  fc.jsonValue({ maxDepth: 3 }).map((json) => JSON.stringify(json)),
);
const headers = fc.record(
  {
    'content-type': fc.constantFrom('application/json', 'application/json; charset=latin1', 'text/plain', '', ';'),
    accept: fc.constantFrom('text/event-stream', '*/*', 'text/html', ''),
    'idempotency-key': fc.constantFrom('', 'a', 'x'.repeat(300), '\u00e9'),
    'if-none-match': fc.constantFrom('*', '"a"'),
    'content-encoding': fc.constantFrom('gzip', 'identity', 'constructor', ''),
    'x-request-id': fc.constantFrom('', 'mine', '<script>', 'x'.repeat(300)),
    'x-http-method-override': fc.constantFrom('DELETE'),
    'mcp-protocol-version': fc.constantFrom('2026-07-28', 'x', ''),
  },
  { requiredKeys: [] },
);
const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND');

it('any request at all is answered, and where it is refused with the error body and its status', async () => {
  const sent = fc.record({ method, target: fc.tuple(path, query).map((parts) => parts.join('')), headers, body });
  const property = fc.asyncProperty(sent, async (asked) => {
    const { status, text, id } = await ask(asked);
    assert.ok(typeof id === 'string' && id.length > 0);
    if (status < 300 || asked.method === 'HEAD') return;
    // A browser at a page of the dashboard is led to the sign-in.
    if (status === 303) return assert.deepEqual([asked.method, asked.headers.accept], ['GET', 'text/html']);
    const said = JSON.parse(text);
    // Messages of the MCP endpoint are refused in the form of JSON-RPC.
    if (said.jsonrpc === '2.0') return assert.equal(status, 400);
    assert.deepEqual(errorBody.strict().parse(said), said);
    assert.equal(status, errorStatus[said.code as keyof typeof errorStatus]);
    assert.equal(said.requestId, id);
    assert.notEqual(said.code, 'internal');
  });
  await fc.assert(property, { numRuns: rounds(150, 1500), seed: 20261121, endOnFailure: true });
});
