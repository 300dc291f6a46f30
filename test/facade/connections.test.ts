import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { Connections } from '../../facade/http/connections.ts';
import { stoppedAtEnd } from '../support/at-end.ts';
import { serverForTests, startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

class Line {
  text = '';
  readonly socket: Socket;
  readonly closed: Promise<unknown>;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname).on('error', () => {});
    this.socket.on('data', (chunk) => {
      this.text += chunk;
    });
    this.closed = once(this.socket, 'close');
  }

  async ask(key?: string, path = '/api/v1/health'): Promise<string> {
    this.text = '';
    this.socket.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${key ? `Authorization: Bearer ${key}\r\n` : ''}\r\n`,
    );
    while (!/\r\n\r\n\{.*\}$/s.test(this.text)) await Promise.race([once(this.socket, 'data'), this.closed]);
    return this.text;
  }

  status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.text)?.[1]);
  }
}

describe('a connection on which nobody was authenticated', () => {
  const server = serverForTests({ FIRST_REQUEST_SECONDS: '0.3' });

  it('ends where no request comes, without a word', async () => {
    const line = new Line(server.baseUrl);
    await line.closed;
    assert.equal(line.text, '');
  });

  it('ends with 408 where a request does not come whole', async () => {
    const post = 'POST /api/v1/auth/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    for (const part of ['GET /api/v1/hea', `${post}Content-Length: 100\r\n\r\n{"idToken": "`]) {
      const line = new Line(server.baseUrl);
      line.socket.write(part);
      await line.closed;
      assert.equal(line.status(), 408, line.text);
      assert.match(line.text, /X-Request-Id: .*"code":"invalid_input"/s);
    }
  });

  it('ends after a refused request, unless another comes in time', async () => {
    const line = new Line(server.baseUrl);
    for (let count = 0; count < 3; count += 1) assert.match(await line.ask('ak_wrong'), /^HTTP\/1\.1 401 /);
    const answer = line.text;
    await line.closed;
    assert.equal(line.text, answer);
  });

  it('stays open between requests from the first authenticated one on', async () => {
    const line = new Line(server.baseUrl);
    assert.match(await line.ask('ak_wrong'), /^HTTP\/1\.1 401 /);
    assert.match(await line.ask(server.adminKey), /^HTTP\/1\.1 200 .*Keep-Alive: timeout=75/s);
    await new Line(server.baseUrl).closed; // one that came later is ended before
    assert.match(await line.ask(server.adminKey), /^HTTP\/1\.1 200 /);
    line.socket.destroy();
  });

  it('learns from the answer how long it may be idle', async () => {
    const usual = await startTestServer();
    const line = new Line(usual.baseUrl);
    assert.match(await line.ask(), /^HTTP\/1\.1 401 .*Connection: keep-alive\r\n/s);
    assert.match(line.text, /Keep-Alive: timeout=10\r\n/);
    line.socket.destroy();
  });
});

describe('MAX_CONNECTIONS', () => {
  const server = serverForTests({ MAX_CONNECTIONS: '10' });

  it('has the oldest connection of a stranger make room, refuses where there is none, and logs it once', async () => {
    const opened = async () => {
      const line = new Line(server.baseUrl);
      await once(line.socket, 'connect');
      return line;
    };
    const strangers: Line[] = [];
    for (let count = 0; count < 10; count += 1) strangers.push(await opened());
    const known: Line[] = [];
    for (const stranger of strangers) {
      const line = await opened();
      assert.match(await line.ask(server.adminKey), /^HTTP\/1\.1 200 /);
      known.push(line);
      await stranger.closed;
    }
    const refused = await opened();
    const body = '{"name":"not made","displayName":"x"}';
    const head = `POST /api/v1/agents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.adminKey}\r\n`;
    refused.socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await refused.closed;
    assert.equal(refused.status(), 503);
    assert.match(refused.text, /Retry-After: 5\r\n.*"code":"unavailable"/s);
    assert.equal(server.log.filter(({ maxConnections }) => maxConnections === 10).length, 1);
    for (const line of known) assert.match(await line.ask(server.adminKey), /^HTTP\/1\.1 200 /);
    assert.equal((await server.store.agents.find({ where: { name: 'not made' }, limit: 1 })).records.length, 0);
    const [first] = known;
    first?.socket.end();
    await first?.closed;
    let next = await opened();
    // The server may hear of the end a moment later.
    while (/ 503 /.test(await next.ask(server.adminKey))) next = await opened();
    assert.match(next.text, /^HTTP\/1\.1 200 /);
    for (const line of [...known, next]) line.socket.destroy();
  });
});

describe('Connections', () => {
  it('answers so many refusals at a time, closes further connections without a word, and answers again once some have ended', async () => {
    const http = stoppedAtEnd(createServer());
    const refused: Socket[] = [];
    const full: true[] = [];
    const connections = new Connections(http, {
      maxConnections: 1,
      firstRequestMs: 60_000,
      maxRefusals: 2,
      isTrusted: () => true, // none makes room
      refuse: (socket) => void refused.push(socket),
      onFull: () => void full.push(true),
    });
    assert.ok(connections);
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`; // listening on TCP
    try {
      const first = new Line(url);
      await once(http, 'connection');
      const waiting = [new Line(url), new Line(url)];
      await until(() => refused.length === 2);
      await new Line(url).closed;
      assert.equal(refused.length, 2, 'the third is closed unanswered');
      for (const socket of refused) socket.destroy();
      for (const line of waiting) await line.closed;
      const next = new Line(url);
      await until(() => refused.length === 3 || next.socket.destroyed);
      assert.deepEqual([refused.length, full.length], [3, 1]);
      for (const line of [first, next]) line.socket.destroy();
    } finally {
      http.closeAllConnections();
      http.close();
    }
  });

  it('answers a request that came in time while the process was at work', async () => {
    const http = stoppedAtEnd(createServer((_, response) => response.end('{}')));
    const connections = new Connections(http, {
      maxConnections: 10,
      firstRequestMs: 50,
      isTrusted: () => false,
      refuse: (socket) => socket.destroy(),
      onFull: () => assert.fail('There was room.'),
    });
    assert.ok(connections);
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`; // listening on TCP
    try {
      const line = new Line(url);
      await once(http, 'connection');
      const asked = line.ask();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100); // longer than a first request may take
      assert.match(await asked, /^HTTP\/1\.1 200 /);
      line.socket.destroy();
    } finally {
      http.closeAllConnections();
      http.close();
    }
  });

  it('leaves a request alone that came whole and is being answered, and connections of trusted proxies', async () => {
    const http = stoppedAtEnd(createServer());
    let connected = 0;
    const connections = new Connections(http, {
      maxConnections: 10,
      firstRequestMs: 50,
      isTrusted() {
        connected += 1;
        return connected === 1;
      },
      refuse: (socket) => socket.destroy(),
      onFull: () => assert.fail('There was room.'),
    });
    assert.ok(connections);
    let answer = () => {};
    http.on('request', (_, response) => {
      answer = () => response.end('{}');
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`; // listening on TCP
    try {
      const proxy = new Line(url);
      await once(http, 'connection');
      const slow = new Line(url);
      const asked = slow.ask();
      await once(http, 'request');
      for (let count = 0; count < 3; count += 1) await new Line(url).closed;
      answer();
      assert.match(await asked, /^HTTP\/1\.1 200 /);
      await slow.closed;
      const byProxy = proxy.ask();
      await once(http, 'request');
      answer();
      assert.match(await byProxy, /^HTTP\/1\.1 200 /);
      proxy.socket.destroy();
    } finally {
      http.closeAllConnections();
      http.close();
    }
  });
});
