import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { makeCapsule, makeKey, rest } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';
import { onPostgres, storeOfRun } from '../support/store.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const server = await startTestServer({ ALLOWED_ORIGINS: 'https://app.example.com' });
const key = server.adminKey;

const get = (path: string, headers: Record<string, string> = {}) => rest(server, 'GET', path, { key, headers });
const post = (body: unknown, headers: Record<string, string> = {}) =>
  rest(server, 'POST', '/api/v1/agents', { key, body, headers });

function raw(headers: string, target = '/api/v1/health'): Promise<string> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(server.baseUrl);
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${target} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`),
    );
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => resolve(text));
    socket.on('close', () => resolve(text));
  });
}

describe('authentication', () => {
  it('is required on every /api path, known or not', async () => {
    for (const [method, path] of [
      ['GET', '/api/v1/agents'],
      ['GET', '/api/v1/nothing'],
      ['GET', '/api'],
      ['GET', '/api/v1/openapi'],
      ['POST', '/api/v1/mcp'],
      ['GET', '/api/v1/mcp'],
      ['PATCH', '/api/v1/agents'],
    ] as const) {
      const { status, body, headers } = await rest(server, method, path);
      assert.deepEqual(
        [status, body.error, body.code],
        [401, 'Authentication required', 'unauthenticated'],
        `${method} ${path}`,
      );
      assert.match(
        headers.get('WWW-Authenticate') ?? '',
        path === '/api/v1/mcp' ? /^Bearer resource_metadata=/ : /^Bearer$/,
      );
    }
  });

  it('refuses what is no key, an unknown key and a wrong secret alike', async () => {
    const wrong = `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`;
    for (const bad of ['x', 'ak_12345678_', `ak_00000000_${'0'.repeat(43)}`, wrong, `${key}x`, `${key}, ${key}`]) {
      const { status, headers } = await rest(server, 'GET', '/api/v1/health', { key: bad });
      assert.deepEqual([status, headers.get('WWW-Authenticate')], [401, 'Bearer error="invalid_token"'], bad);
    }
    for (const [Authorization, challenge] of [
      [key, 'Bearer'],
      [`Basic ${key}`, 'Bearer'],
      ['Bearer', 'Bearer'],
      [`Bearer\t${key}x`, 'Bearer error="invalid_token"'],
    ] as const) {
      const { status, headers } = await rest(server, 'GET', '/api/v1/health', { headers: { Authorization } });
      assert.deepEqual([status, headers.get('WWW-Authenticate')], [401, challenge], Authorization);
    }
    assert.equal(
      (await rest(server, 'GET', '/api/v1/health', { headers: { Authorization: `bearer ${key}` } })).status,
      200,
    );
  });
});

describe('paths and methods', () => {
  it('answer 404 for an unknown path and 405 with Allow for a wrong method', async () => {
    assert.equal((await get('/api/v1/nothing')).status, 404);
    assert.equal((await get('/api/v1/agents/')).status, 404);
    assert.equal((await get('/elsewhere')).status, 404);
    const { status, headers } = await rest(server, 'PUT', '/api/v1/agents', { key, body: {} });
    assert.deepEqual([status, headers.get('Allow')], [405, 'HEAD, GET, POST']);
  });

  it('are those of the API description and of the MCP endpoint too', async () => {
    const head = await fetch(`${server.baseUrl}/api/v1/openapi`, {
      method: 'HEAD',
      headers: { Authorization: `Bearer ${key}` },
    });
    assert.equal(head.status, 200);
    for (const [path, allow] of [
      ['/api/v1/openapi', 'HEAD, GET'],
      ['/api/v1/mcp', 'HEAD, GET, POST'],
    ] as const) {
      const { status, headers } = await rest(server, 'DELETE', path, { key });
      assert.deepEqual([status, headers.get('Allow')], [405, allow]);
    }
    const options = await rest(server, 'OPTIONS', '/api/v1/agents', { key });
    assert.deepEqual([options.status, options.headers.get('Allow')], [405, 'HEAD, GET, POST']);
  });

  it('never take a fixed segment for an agent id', async () => {
    for (const segment of ['health', 'models', 'tools', 'skills']) {
      const { status } = await rest(server, 'DELETE', `/api/v1/agents/${segment}`, { key });
      assert.equal(status, 405, segment);
    }
    assert.equal((await get('/api/v1/agents/health')).body.overallStatus, 'ok');
  });

  it('decode parameters, and survive malformed ones', async () => {
    assert.equal((await get('/api/v1/agents/a%2Fb')).status, 404);
    assert.equal((await get('/api/v1/agents/%E0%A4%A')).status, 404);
    assert.equal((await get(`/api/v1/agents/${'x'.repeat(5000)}`)).status, 400);
    assert.equal((await get('/api/v1/agents/%00')).status, 400);
  });

  it('answer HEAD like GET without a body', async () => {
    const response = await fetch(`${server.baseUrl}/api/v1/health`, {
      method: 'HEAD',
      headers: { Authorization: `Bearer ${key}` },
    });
    assert.deepEqual([response.status, await response.text()], [200, '']);
    assert.ok(Number(response.headers.get('Content-Length')) > 0);
  });
});

describe('request targets', () => {
  it('are taken in absolute form, and not where they climb', async () => {
    const get = (target: string) => raw(`Host: localhost\r\nAuthorization: Bearer ${key}`, target);
    assert.match(await get('http://localhost/api/v1/health'), /^HTTP\/1.1 200 /);
    for (const path of [
      '/api/v1/agents/../health',
      '/api/v1/agents/../agents',
      '/x/../api/v1/agents',
      '/api/v1/agents/%2e%2E/agents',
      '/api\\v1/agents',
      'http://127.0.0.1/x/../api/v1/agents',
    ]) {
      assert.match(await get(path), /^HTTP\/1.1 404 /, path);
    }
    assert.match(await get('/api/v1/agents/%2e%2e/health'), /^HTTP\/1.1 404 /);
  });

  it('have no unknown query parameters, whatever is served there', async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    for (const [method, path] of [
      ['GET', '/api/v1/openapi'],
      ['GET', '/api/v1/mcp'],
      ['POST', '/api/v1/mcp'],
    ] as const) {
      const body = method === 'POST' ? message : undefined;
      const answer = await rest(server, method, `${path}?tool=list_*&foo=1`, { key, body });
      assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_input'], `${method} ${path}`);
      assert.deepEqual(
        answer.body.issues.map((issue: { path: string }) => issue.path.includes('tool')),
        [true, false],
      );
    }
    const narrowed = await rest(server, 'POST', '/api/v1/mcp?tools=list_*&groups=skills', { key, body: message });
    assert.equal(narrowed.body.result.tools.length, 1);
  });

  it('and headers that are not HTTP get an answer with a request id all the same', async () => {
    const answer = await raw(`Host: localhost\r\nX-Big: ${'x'.repeat(100_000)}`);
    assert.match(answer, /^HTTP\/1.1 431 /);
    assert.match(answer, /X-Request-Id: \S+/);
    assert.match(await raw('Host localhost'), /^HTTP\/1.1 400 [\s\S]+"code":"invalid_input"/);
    assert.match(await raw('X-No: host'), /^HTTP\/1.1 401 [\s\S]+"code":"unauthenticated"/);
    const hostless = await raw(`Authorization: Bearer ${key}`);
    assert.match(hostless, /^HTTP\/1.1 403 [\s\S]+"path":"Host"/);
    assert.match(await raw(`Host: localhost\r\nExpect: wonders\r\nAuthorization: Bearer ${key}`), /^HTTP\/1.1 200 /);
  });
});

it('request ids are kept when sane, made otherwise, and repeated in error bodies', async () => {
  assert.equal((await get('/api/v1/health', { 'X-Request-Id': 'trace-42' })).headers.get('X-Request-Id'), 'trace-42');
  const made = await get('/api/v1/nothing', { 'X-Request-Id': 'a b' });
  assert.match(made.headers.get('X-Request-Id') ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(made.body.requestId, made.headers.get('X-Request-Id'));
});

describe('bodies', () => {
  it('are JSON objects in UTF-8', async () => {
    for (const body of ['{', '[]', '"x"', 'null', '1', '{"name": }', '']) {
      const { status } = await post(body === '' ? ' ' : body);
      assert.equal(status, 400, body);
    }
    const response = await fetch(`${server.baseUrl}/api/v1/agents`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    });
    assert.equal(response.status, 400);
  });

  it('of another type are 415', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'application/jsonp',
    ]) {
      assert.equal((await post('{}', { 'Content-Type': type })).status, 415, type);
    }
    assert.equal((await post('{}', { 'Content-Encoding': 'compress' })).status, 415);
  });

  it('sent in chunks are none where there is nothing in them, whatever their type', async () => {
    const chunked = async (method: string, path: string, type: Record<string, string>, body = '') => {
      const headers = { Authorization: `Bearer ${key}`, 'Transfer-Encoding': 'chunked', ...type };
      const sent = request(`${server.baseUrl}${path}`, { method, headers });
      sent.end(body);
      const [response] = await once(sent, 'response');
      const text = (await response.toArray()).join('');
      return [response.statusCode, text === '' ? undefined : JSON.parse(text).code];
    };
    const json = { 'Content-Type': 'application/json' };
    for (const [at, type] of [{}, { 'Content-Type': 'text/plain' }, json, { 'Content-Encoding': 'gzip' }].entries()) {
      const { body } = await post({ name: `chunked ${at}`, displayName: 'x' });
      assert.deepEqual(await chunked('DELETE', `/api/v1/agents/${body.id}`, type), [200, undefined]);
      assert.deepEqual(await chunked('POST', '/api/v1/agents', type), [400, 'invalid_input']);
    }
    const agent = JSON.stringify({ name: 'chunked', displayName: 'x' });
    assert.deepEqual(await chunked('POST', '/api/v1/agents', {}, agent), [415, 'unsupported_media_type']);
    assert.deepEqual(await chunked('POST', '/api/v1/agents', json, agent), [201, undefined]);
    const large = await chunked('POST', '/api/v1/agents', {}, 'x'.repeat(5 * 1024 * 1024));
    assert.deepEqual(large, [415, 'unsupported_media_type']);
  });

  it('above 4 MiB are 413, also when they only say so, and when they unfold to it', async () => {
    const large = await post({ name: 'x', displayName: 'x'.repeat(5 * 1024 * 1024) });
    assert.deepEqual([large.status, large.headers.get('Connection')], [413, 'close']);
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 32));
    const response = await fetch(`${server.baseUrl}/api/v1/agents`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      body: bomb,
    });
    assert.equal(response.status, 413);
    assert.equal((await get('/api/v1/health')).status, 200);
  });

  it('may be compressed', async () => {
    const response = await fetch(`${server.baseUrl}/api/v1/agents`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      body: gzipSync(JSON.stringify({ name: 'compressed', displayName: 'x' })),
    });
    assert.equal(response.status, 201);
  });

  it('with hostile members are refused as input, never with 500', async () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    for (const body of [
      `{"name":"n","displayName":"d","identity":${deep}}`,
      `{"name":"n","displayName":"d","x":${deep}}`,
      '{"name":"n","displayName":"d","__proto__":{"status":"deleted"}}',
      '{"name":"n","displayName":"d","constructor":{"prototype":1}}',
      '{"name":"a\\u0000b","displayName":"d"}',
      '{"name":"a\\ud800b","displayName":"d"}',
      `{${Array.from({ length: 9000 }, (_, n) => `"k${n}":1`).join(',')}}`,
    ]) {
      const { status, body: error } = await post(body);
      assert.deepEqual([status, error.code], [400, 'invalid_input'], body.slice(0, 60));
    }
  });

  it('of a request that dies half way leave nothing behind', async () => {
    const { hostname, port } = new URL(server.baseUrl);
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(`POST /api/v1/agents HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n`);
        socket.write('Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"name":"half');
        setTimeout(() => socket.destroy(), 50);
      });
      socket.on('close', () => resolve());
    });
    const { body } = await get('/api/v1/agents?limit=100');
    assert.equal(
      body.data.some(({ name }: { name: string }) => name.startsWith('half')),
      false,
    );
  });
});

describe('Host and Origin', () => {
  it('of strangers are refused', async () => {
    assert.match(await raw(`Host: evil.example\r\nAuthorization: Bearer ${key}`), /^HTTP\/1.1 403 /);
    assert.match(await raw(`Host: localhost\r\nAuthorization: Bearer ${key}`), /^HTTP\/1.1 200 /);
    assert.equal((await get('/api/v1/health', { Origin: 'https://evil.example' })).status, 403);
    assert.equal((await get('/api/v1/health', { Origin: 'null' })).status, 403);
  });

  it('of its own pages are served, under whatever name of its own they were reached', async () => {
    const { port } = new URL(server.baseUrl);
    const from = (host: string, origin: string) =>
      raw(`Host: ${host}\r\nOrigin: ${origin}\r\nAuthorization: Bearer ${key}`);
    assert.match(await from(`localhost:${port}`, `http://localhost:${port}`), /^HTTP\/1.1 200 /);
    for (const [host, origin] of [
      [`localhost:${port}`, 'http://localhost:1'],
      [`localhost:${port}`, `https://localhost:${port}`],
      ['evil.example', 'http://evil.example'],
    ] as const) {
      assert.match(await from(host, origin), /^HTTP\/1.1 403 /, origin);
    }
  });

  it('of allowed pages are served, preflight included', async () => {
    const { status, headers } = await get('/api/v1/health', { Origin: 'https://app.example.com' });
    assert.deepEqual([status, headers.get('Access-Control-Allow-Origin')], [200, 'https://app.example.com']);
    const preflight = await fetch(`${server.baseUrl}/api/v1/agents`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'POST' },
    });
    assert.equal(preflight.status, 204);
  });
});

describe('answers', () => {
  it('keep the connection longer than a proxy in front does, so that none is closed under a request', async () => {
    const { headers } = await get('/api/v1/health');
    assert.equal(headers.get('Keep-Alive'), 'timeout=75');
  });

  it('are not cached, not sniffed and do not name their maker', async () => {
    const { headers } = await get('/api/v1/health');
    assert.equal(headers.get('Cache-Control'), 'no-store');
    assert.equal(headers.get('X-Content-Type-Options'), 'nosniff');
    assert.equal(headers.get('X-Powered-By'), null);
    assert.equal(headers.get('ETag'), null);
  });

  it('report the health of the server and of what it depends on', async () => {
    const { body } = await get('/api/v1/health');
    assert.deepEqual(
      { ...body, uptimeSeconds: 0 },
      { status: 'ok', version, uptimeSeconds: 0, store: { kind: storeOfRun, writable: true } },
    );
    const { body: system } = await get('/api/v1/agents/health');
    assert.deepEqual(
      system.integrations.map(({ name, status }: { name: string; status: string }) => [name, status]),
      [
        ['store', 'ok'],
        ['mail', 'ok'],
        ...(onPostgres ? [['clocks', 'ok']] : []), // processes that share a store compare theirs
      ],
    );
  });

  it('stub the MCP endpoint on GET, and refuse to stream there', async () => {
    const { status, body } = await get('/api/v1/mcp');
    assert.equal(status, 200);
    assert.deepEqual([body.status, body.name, body.protocolVersions[0]], ['ok', 'agent-admin', '2026-07-28']);
    for (const Accept of ['*/*', 'application/json', 'text/html, */*;q=0.8', 'text/event-stream;q=0, */*']) {
      assert.equal((await get('/api/v1/mcp', { Accept })).status, 200, Accept);
    }
    assert.match(await raw(`Host: localhost\r\nAuthorization: Bearer ${key}`, '/api/v1/mcp'), /^HTTP\/1.1 200 /);
    const capsule = await makeCapsule(server, { allowedTools: ['list_agents'] });
    const paths = [
      ['/api/v1/mcp', key],
      [`/api/capsules/${capsule.id}/mcp`, capsule.token],
    ] as const;
    const wanting = ['text/event-stream', 'application/json, text/event-stream', '*/*, Text/Event-Stream ;q=0.5'];
    for (const [path, token] of paths) {
      for (const Accept of wanting) {
        for (const method of ['GET', 'HEAD']) {
          const refused = await rest(server, method, path, { key: token, headers: { Accept } });
          assert.deepEqual(
            [refused.status, refused.headers.get('Allow')],
            [405, 'POST'],
            `${method} ${path} ${Accept}`,
          );
        }
      }
    }
  });
});

it('RATE_LIMIT_PER_MINUTE answers 429 with Retry-After, for each key of its own', async () => {
  const limited = await startTestServer({ RATE_LIMIT_PER_MINUTE: '5' });
  const other = await makeKey(limited, { scopes: ['read'] });
  const statuses = [];
  for (let n = 0; n < 6; n += 1) statuses.push((await rest(limited, 'GET', '/api/v1/health', { key: other })).status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429]);
  const { headers, body } = await rest(limited, 'GET', '/api/v1/health', { key: other });
  assert.ok(Number(headers.get('Retry-After')) > 0);
  assert.equal(body.code, 'rate_limited');
  assert.equal((await rest(limited, 'GET', '/api/v1/health', { key: limited.adminKey })).status, 200);
});
