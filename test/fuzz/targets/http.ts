import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { errorBody, errorStatus } from '../../../resources/error.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import type { Target, World } from '../target.ts';
import { type Answer, answersIn } from './wire.ts';

const KEY = /KEY/g;
const LENGTH = /LENGTH/g;
/** A request that swallows what is behind it is waited for no longer. */
const SILENT_MS = 60;
const LAST = '\r\n\r\nGET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
/** What Node.js itself answers to what is no request. */
const BARE = new Set([400, 408, 413, 417, 431]);

const get = (target: string, headers = '') =>
  `GET ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer KEY\r\n${headers}\r\n`;
const post = (target: string, body: string, headers = '', method = 'POST') =>
  `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\nContent-Length: LENGTH\r\n${headers}\r\n${body}`;

/** Bytes on a connection: everything before a tool is called, and after it. */
export const http: Target = {
  about: 'bytes on a connection',
  sources: ['facade/http', 'facade/rest', 'facade/routes.ts', 'facade/sign-in', 'facade/dashboard/server'],
  atOnce: 16,
  seeds: [
    get('/api/v1/agents?limit=2&status=active&includeTotal=true'),
    get('/api/v1/search?q=a&types=agent,skill', 'Accept: text/event-stream\r\n'),
    get('/api/v1/openapi', 'Accept-Encoding: gzip\r\nIf-None-Match: "a"\r\n'),
    get('/', 'Accept: text/html\r\n'),
    get('http://localhost/api/v1/settings', 'Range: bytes=0-1\r\nX-Request-Id: a\r\n'),
    get('/api/v1/versions/agent/agt_1/ver_1/diff?against=previous', 'Cookie: session=a\r\n'),
    get('/sign-in?return=/agents', 'X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n'),
    get('/.well-known/jwks.json') + get('/readyz') + get('/guides'),
    post('/api/v1/agents/skills', '{"name":"a","instructions":"b"}', 'Idempotency-Key: a\r\n'),
    post('/api/v1/settings', '{"defaultModel":null}', 'If-Match: 1\r\n', 'PATCH'),
    post('/api/v1/auth/session', '{"key":"KEY"}', 'Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n'),
    post('/api/v1/mcp', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 'Mcp-Method: tools/list\r\n'),
    `POST /api/v1/threads HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"t\r\n9\r\nitle":""}\r\n0\r\n\r\n`,
    post(
      '/api/v1/agents',
      '\x1f\x8b\b\0\0\0\0\0\0\x03\xab\xae\x05\0C\xbf\xa6\xa3\x02\0\0\0',
      'Content-Encoding: gzip\r\n',
    ),
    'OPTIONS /api/v1/mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n\r\n',
    'HEAD /api/v1/health HTTP/1.0\r\nExpect: 100-continue\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n',
    'DELETE /api/v1/agents/flows/none HTTP/1.1\r\nHost: a:b@c\r\nX-API-Key: KEY\r\n\r\n',
  ],
  async open(): Promise<World> {
    const server = await startTestServer({
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '1000000',
      TRUSTED_PROXIES: 'loopback',
      ALLOWED_ORIGINS: 'https://app.example',
    });
    return {
      async run(input) {
        for (const answer of answersIn(await exchanged(server, filled(input, server.adminKey)))) judge(answer);
      },
      settled: () => requireQuiet(server),
      close: () => server.close(),
    };
  },
};

/** The request with the key, and the length of the body behind its head. */
function filled(input: Buffer, key: string): Buffer {
  const text = input.toString('latin1').replace(KEY, key);
  const head = text.indexOf('\r\n\r\n');
  return Buffer.from(text.replace(LENGTH, String(head < 0 ? 0 : text.length - head - 4)), 'latin1');
}

/** All that the server sends back until it closes the connection or waits for more. */
function exchanged({ baseUrl }: TestServer, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1');
    socket.setTimeout(SILENT_MS, () => socket.destroy());
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {}); // the server may close while bytes are sent
    socket.once('close', () => resolve(Buffer.concat(chunks)));
    socket.write(bytes);
    socket.write(LAST);
  });
}

function judge({ status, headers, body, isWhole }: Answer): void {
  assert.ok(status < 500 || status === 503, `${status}: ${body}`);
  if (status < 400 || (BARE.has(status) && body === '')) return;
  if (!isWhole || !/^application\/json/.test(headers.get('content-type') ?? '') || body === '') return;
  const said = JSON.parse(body);
  if (said.jsonrpc === '2.0') assert.ok(said.error ?? said.result);
  if (said.jsonrpc === '2.0' || typeof said.error_description === 'string') return;
  assert.deepEqual(errorBody.strict().parse(said), said);
  if (BARE.has(status)) assert.match(said.code, /^(invalid_input|too_large)$/);
  else assert.equal(status, errorStatus[said.code as keyof typeof errorStatus], body);
  assert.equal(said.requestId, headers.get('x-request-id'));
}

/** What the server failed to do is in its log. */
export function requireQuiet({ log }: TestServer): void {
  const errors = (log as Record<string, unknown>[]).splice(0); // what tests read, this one also takes away
  assert.equal(errors.length, 0, JSON.stringify(errors[0]));
}
