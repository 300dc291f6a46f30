import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type FarServer, OutgoingWorld, startFarServer } from '../../support/outgoing-world.ts';
import { principalOf } from '../../support/registry.ts';

const SECRET = 'very-secret-token-0123456789';
const far: FarServer = await startFarServer();
const world = await OutgoingWorld.open({ answerMs: 2000 });
const connect = (name: string, members: object = {}) =>
  world.must('create_connection', { name, kind: 'http', baseUrl: `${far.url}/api`, ...members });
const send = (input: object) => world.must('send_http_request', { connection: 'api', path: '/x', ...input });
const last = () => far.asked.at(-1) ?? assert.fail('nothing came');
const echo: FarServer['answer'] = ({ url, headers, body }, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ url, headers, body }));
};

before(async () => {
  far.answer = echo;
  await connect('api', { auth: { type: 'bearer', secret: SECRET }, methods: ['GET', 'POST', 'DELETE', 'HEAD'] });
});

describe('a request by a connection', () => {
  it('goes to the path below the base with query, headers and JSON, as the connection says who asks', async () => {
    const answer = await send({
      method: 'POST',
      path: '/orders/7',
      query: { full: true, tag: ['a b', '&c'] },
      headers: { 'X-Trace': 'one' },
      body: { sum: 3 },
    });
    const { method, url, headers, body } = last();
    assert.deepEqual([method, url, body], ['POST', '/api/orders/7?full=true&tag=a+b&tag=%26c', '{"sum":3}']);
    assert.deepEqual(
      [headers.authorization, headers['x-trace'], headers['content-type']],
      [`Bearer ${SECRET}`, 'one', 'application/json'],
    );
    assert.deepEqual([answer.status, answer.format, answer.body.body], [200, 'json', '{"sum":3}']);
  });

  it('shows the secret to nobody: not in the answer, the audit log, an error or a list', async () => {
    far.answer = ({ headers }, response) =>
      void response.setHeader('x-echo', String(headers.authorization)).end(String(headers.authorization));
    const text = await send({ headers: { 'x-own': 'own-secret-value' } });
    assert.match(text.body, /^Bearer \[redacted\]$/);
    const bytes = Buffer.from(`\xff${SECRET}`, 'latin1');
    far.answer = (_, response) => void response.setHeader('content-type', 'image/png').end(bytes);
    const binary = await send({});
    far.answer = (_, response) => void response.writeHead(429).end(SECRET);
    const error = await world.refused('send_http_request', { connection: 'api', path: '/x' });
    const { data } = await world.must('list_connections', {});
    await world.must('update_connection', { id: data[0].id, auth: { type: 'bearer', secret: '•••' } });
    const entries = await world.store.audit.find({ limit: 100 });
    const shown = [text, binary, error, data, entries];
    for (const all of shown) assert.doesNotMatch(JSON.stringify(all), /very-secret|own-secret/);
    assert.equal(Buffer.from(binary.body, 'base64').includes(SECRET), false);
    assert.deepEqual(data[0].auth, { type: 'bearer', secret: '•••' });
    far.answer = echo;
    await send({});
    assert.equal(last().headers.authorization, `Bearer ${SECRET}`);
  });

  it('keeps a part of a large answer, and no part of a secret at the cut', async () => {
    far.answer = (_, response) =>
      void response
        .setHeader('content-type', 'text/plain')
        .end(`${'a'.repeat(1_000_000 - SECRET.length + 1)}${SECRET}tail`);
    const large = await send({});
    assert.ok(large.truncated && large.body.length > 900_000);
    assert.doesNotMatch(large.body, /very/);
    far.answer = (_, response) => void response.setHeader('content-type', 'image/png').end(Buffer.alloc(600_000, 255));
    const binary = await send({});
    assert.deepEqual(
      [binary.format, binary.truncated, Buffer.from(binary.body, 'base64').length],
      ['base64', true, 256_000],
    );
    far.answer = (_, response) =>
      void response.setHeader('content-type', 'application/json').end(`${'['.repeat(5000)}${']'.repeat(5000)}`);
    assert.equal((await send({})).format, 'text');
    far.answer = (_, response) =>
      void response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(gzipSync('hello'));
    assert.equal((await send({})).format, 'base64');
    far.answer = (_, response) => void response.writeHead(204).end();
    assert.deepEqual(await send({ method: 'DELETE' }).then(({ status, format }) => [status, format]), [204, 'none']);
  });

  it('follows no redirect', async () => {
    far.answer = (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:9/elsewhere' }).end();
    const { status, headers } = await send({});
    assert.deepEqual([status, headers.location], [302, 'http://127.0.0.1:9/elsewhere']);
    assert.equal(far.asked.filter(({ url }) => url.includes('elsewhere')).length, 0);
  });

  it('says when to come again', async () => {
    far.answer = (_, response) => void response.writeHead(429, { 'retry-after': '7' }).end('slow down');
    assert.match(
      (await world.refused('send_http_request', { connection: 'api', path: '/x' })).error,
      /429; try again in 7 seconds.*"slow down"/,
    );
    far.answer = (_, response) => void response.writeHead(503).end();
    assert.match(
      (await world.refused('send_http_request', { connection: 'api', path: '/x' })).error,
      /503; try again later/,
    );
  });

  it('says that it is unknown what became of it, where no whole answer came', async () => {
    far.answer = () => {};
    assert.match(
      (await world.refused('send_http_request', { connection: 'api', path: '/x' })).error,
      /may have been taken.*2 s/,
    );
    far.answer = (_, response) => void response.socket?.destroy();
    const { code, error } = await world.refused('send_http_request', { connection: 'api', path: '/x' });
    assert.deepEqual([code, /may have been taken/.test(error)], ['unavailable', true]);
    const { data } = await world.must('list_connections', {});
    assert.match(data[0].lastFailure.message, /may have been taken/);
    far.answer = echo;
    await send({});
    assert.equal((await world.must('list_connections', {})).data[0].lastFailure, undefined);
  });

  it('counts what is sent in one minute for all callers and connections apart', async () => {
    far.answer = echo;
    await connect('slow', { rate: { perMinute: 2 } });
    await connect('other', { rate: { perMinute: 2 } });
    const beside = world.beside();
    const codes = [];
    for (const one of [world, world, world])
      codes.push(await one.codeOf('send_http_request', { connection: 'slow', path: '/x' }));
    codes.push(await world.codeOf('send_http_request', { connection: 'other', path: '/x' }));
    assert.deepEqual(codes, ['ok', 'ok', 'rate_limited', 'ok']);
    // Processes on one store count together where there are several.
    if (world.store.cluster)
      assert.equal(await beside.codeOf('send_http_request', { connection: 'slow', path: '/x' }), 'rate_limited');
  });

  it('is not made where the connection is switched off, or is for messages', async () => {
    const { id } = await connect('off');
    await world.must('update_connection', { id, enabled: false });
    await world.must('create_connection', { name: 'chat', kind: 'slack', webhookUrl: `${far.url}/hook` });
    assert.equal(await world.codeOf('send_http_request', { connection: 'off', path: '/x' }), 'conflict');
    assert.match(
      (await world.refused('send_http_request', { connection: 'chat', path: '/x' })).error,
      /use send_message/,
    );
    assert.equal(await world.codeOf('send_http_request', { connection: 'nowhere', path: '/x' }), 'not_found');
  });
});

describe('a path', () => {
  const limited = { connection: 'limited' };
  before(async () => {
    far.answer = echo;
    await connect('limited', { paths: ['/repos/*/issues', '/open/**', '/@me'] });
  });

  const OUTSIDE = [
    ...['/../x', '/open/../keys', '/open/..', '/open/./x', '/./open/x', '/open/..;/keys', '/open/..;a=b/keys'],
    ...['/open/%2e%2e/keys', '/open/%2E%2e/keys', '/open/.%2e/keys', '/open/%252e%252e/keys', '/open/%25252e%25252e/x'],
    ...[
      '/open/..%2fkeys',
      '/open/%2f%2fevil.example',
      '/open/..%5ckeys',
      '/open/..\\keys',
      '\\open\\x',
      '/open\\..\\keys',
    ],
    ...['//evil.example/x', '/open//x', '///evil.example', 'https://evil.example/open/x', 'http:/evil.example'],
    ...['@evil.example/open/x', 'open/x', '.evil.example/open/x', ':80/open/x', '?x', '#x', '/open/x?y=1', '/open/x#y'],
    ...[
      '/open/%',
      '/open/%zz',
      '/open/%00',
      '/open/a b',
      '/open/a\tb',
      '/open/a\r\nHost: evil',
      '/open/%0d%0ax',
      '/open/\u2028',
    ],
  ];
  for (const path of OUTSIDE) {
    it(`that leads or could lead elsewhere is refused: ${JSON.stringify(path)}`, async () => {
      const count = far.asked.length;
      assert.equal(await world.codeOf('send_http_request', { ...limited, path }), 'invalid_input');
      assert.equal(far.asked.length, count);
    });
  }

  it('is one of those that the connection allows', async () => {
    for (const path of ['/repos/one/issues', '/open/a', '/open/a/b.json', '/open/a%20b', '/@me']) {
      assert.equal((await world.must('send_http_request', { ...limited, path })).status, 200, path);
      assert.ok(last().url.startsWith('/api/'), last().url);
    }
    for (const path of [
      '/repos/one/two/issues',
      '/repos/one/issues/1',
      '/open',
      '/repos//issues',
      '/',
      '/opens/a',
      '/%6fpen/a',
    ])
      assert.equal(await world.codeOf('send_http_request', { ...limited, path }), 'invalid_input', path);
  });

  it('keeps to the methods, and sends no body where there is none', async () => {
    assert.match(
      (await world.refused('send_http_request', { ...limited, path: '/open/a', method: 'DELETE' })).error,
      /GET, POST/,
    );
    assert.equal(await world.codeOf('send_http_request', { ...limited, path: '/open/a', body: {} }), 'invalid_input');
  });
});

describe('headers of the caller', () => {
  const RESERVED = [
    ...[
      'Authorization',
      'authorization',
      'Host',
      'Connection',
      'Transfer-Encoding',
      'Content-Length',
      'Cookie',
      'Sudo',
      'Impersonate-User',
      'Stripe-Account',
      'X-Amz-Copy-Source',
      'Destination',
      'True-Client-IP',
      'TE',
      'Upgrade',
    ],
    ...[
      'X-Forwarded-For',
      'X-HTTP-Method-Override',
      'X-Method-Override',
      'X-Original-URL',
      'X-Rewrite-URL',
      'Proxy-Authorization',
    ],
    ...['Keep-Alive', 'Expect', 'Forwarded', 'Accept-Encoding', 'Content-Encoding', 'Trailer'],
  ];
  for (const name of RESERVED) {
    it(`never say what the connection says: ${name}`, async () => {
      assert.equal(
        await world.codeOf('send_http_request', { connection: 'api', path: '/x', headers: { [name]: 'x' } }),
        'invalid_input',
      );
    });
  }

  it('never hold what would be another header, nor that of the connection', async () => {
    await connect('keyed', { auth: { type: 'header', header: 'X-Api-Key', secret: SECRET } });
    for (const headers of [
      { a: 'b\r\nHost: evil' },
      { 'a\r\nHost': 'b' },
      { 'a b': 'c' },
      { '': 'c' },
      { 'x-API-key': 'mine' },
      { a: '\u0100' },
    ])
      assert.equal(
        await world.codeOf('send_http_request', { connection: 'keyed', path: '/x', headers }),
        'invalid_input',
        JSON.stringify(headers),
      );
    far.answer = echo;
    await world.must('send_http_request', { connection: 'keyed', path: '/x' });
    assert.equal(last().headers['x-api-key'], SECRET);
  });
});

describe('an address', () => {
  it('of a private network is refused, when the connection is made and when it is used', async () => {
    const outside = world.beside({ privateAddresses: false });
    const given = { name: 'metadata', kind: 'http', baseUrl: 'http://169.254.169.254/latest' };
    assert.match((await outside.refused('create_connection', given)).error, /link-local/);
    const slack = { name: 'metadata', kind: 'slack', webhookUrl: 'http://[::1]/hook' };
    assert.match((await outside.refused('create_connection', slack)).error, /private or local/);
    const tokenUrl = {
      type: 'oauth-client-credentials',
      tokenUrl: 'http://10.0.0.1/t',
      user: 'a',
      secret: 'b',
    };
    assert.match(
      (await outside.refused('create_connection', { ...given, baseUrl: 'http://8.8.8.8/', auth: tokenUrl })).error,
      /private or local/,
    );
    const count = far.asked.length;
    assert.match(
      (await outside.refused('send_http_request', { connection: 'api', path: '/x' })).error,
      /private or local/,
    );
    assert.equal(far.asked.length, count);
  });
});

describe('client credentials', () => {
  it('get a token once, another where it is refused, and are asked no more than once again', async () => {
    let made = 0;
    let valid = '';
    const provider = await startFarServer((_, response) => {
      made += 1;
      valid = `issued-token-${made}-of-provider`;
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ access_token: valid, expires_in: 3600 }));
    });
    far.answer = ({ headers }, response) =>
      void response
        .writeHead(headers.authorization === `Bearer ${valid}` ? 200 : 401)
        .end(`you sent ${headers.authorization}`);
    const auth = {
      type: 'oauth-client-credentials',
      tokenUrl: `${provider.url}/token`,
      user: 'cl ient',
      secret: SECRET,
      scopes: ['a', 'b'],
    };
    await connect('oauth', { auth });
    const request = { connection: 'oauth', path: '/x' };
    const answers = await Promise.all([1, 2, 3].map(() => world.must('send_http_request', request)));
    assert.deepEqual([answers.map(({ status }) => status), made], [[200, 200, 200], 1]);
    assert.equal(answers[0].body, 'you sent Bearer [redacted]');
    const [{ headers, body }] = provider.asked as [(typeof provider.asked)[number]];
    assert.equal(Buffer.from(String(headers.authorization).slice(6), 'base64').toString(), `cl+ient:${SECRET}`);
    assert.equal(body, 'grant_type=client_credentials&scope=a+b');
    valid = 'withdrawn';
    assert.equal((await world.must('send_http_request', request)).status, 200);
    assert.equal(made, 2);
    far.answer = (_, response) => void response.writeHead(401).end();
    const count = far.asked.length;
    assert.equal((await world.must('send_http_request', request)).status, 401);
    assert.deepEqual([far.asked.length - count, made], [2, 3]);
    provider.answer = (_, response) => void response.writeHead(400).end(SECRET);
    const { code, error } = await world.refused('send_http_request', request);
    assert.deepEqual([code, error.includes(SECRET)], ['unavailable', false]);
  });
});

describe('a caller', () => {
  it('may use the connections that its grants name, by name or id', async () => {
    const { id } = await connect('mine');
    far.answer = echo;
    for (const named of ['mine', id]) {
      const key = principalOf({ type: 'api-key', id: 'key_1', grants: [`connection:use:${named}`] });
      const codes = [];
      for (const connection of ['mine', id, 'api'])
        codes.push(await world.codeOf('send_http_request', { connection, path: '/x' }, key));
      assert.deepEqual(codes, ['approval_required', 'approval_required', 'forbidden'], named);
      assert.equal(await world.codeOf('list_connections', {}, key), 'forbidden');
    }
  });
});
