import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { stoppedAtEnd } from '../support/at-end.ts';
import { type TestDatabase, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { BLACK_HOLE, TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { CommitCutter, type CommitMoment, commitMoments } from './commit-cutter.ts';

/** Sends back what comes. */
async function startEcho() {
  const seen: Socket[] = [];
  const server = stoppedAtEnd(
    createServer((socket) => {
      seen.push(socket);
      socket.on('error', () => {}).on('data', (bytes) => socket.write(bytes));
    }),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  const proxy = await TcpProxy.start({ host: '127.0.0.1', port });
  return { proxy, seen };
}

async function client(proxy: TcpProxy) {
  const socket = connect(proxy.port, '127.0.0.1');
  let got = '';
  const errors: string[] = [];
  socket.on('data', (bytes) => {
    got += bytes;
  });
  socket.on('error', (error) => errors.push(String((error as NodeJS.ErrnoException).code)));
  return { socket, got: () => got, errors };
}

describe('a proxy on the wire', () => {
  it('passes bytes and ends in both directions', async () => {
    const { proxy } = await startEcho();
    const { socket, got } = await client(proxy);
    socket.end('hello');
    await once(socket, 'close');
    assert.equal(got(), 'hello');
    await until(() => proxy.connections.length === 0);
  });

  it('resets a connection whose end is on its way', async () => {
    const { proxy } = await startEcho();
    const { socket } = await client(proxy);
    socket.write('a');
    await once(socket, 'data');
    const [connection] = proxy.connections;
    connection?.server.end();
    connection?.reset();
    await until(() => proxy.connections.length === 0);
  });

  it('delays, in order', async () => {
    const { proxy } = await startEcho();
    const delays = [30, 1, 15, 2];
    proxy.treat({ kind: 'delay', ms: () => delays.shift() ?? 1 });
    const { socket, got } = await client(proxy);
    for (const letter of 'abcdef') {
      socket.write(letter);
      await new Promise(setImmediate);
    }
    await until(() => got().length === 6);
    assert.equal(got(), 'abcdef');
    assert.ok(proxy.counts.chunksDelayed >= 2);
    socket.destroy();
  });

  it('holds bytes until they may pass', async () => {
    const { proxy } = await startEcho();
    const { socket, got } = await client(proxy);
    socket.write('a');
    await until(() => got() === 'a');
    proxy.treat({ kind: 'hold' });
    proxy.treat({ kind: 'hold' });
    socket.write('b');
    await until(() => proxy.counts.chunksHeld > 0);
    assert.equal(got(), 'a');
    proxy.pass();
    await until(() => got() === 'ab');
    socket.destroy();
  });

  it('swallows all, tells nobody, and resets what lost bytes at its end', async () => {
    const { proxy, seen } = await startEcho();
    const { socket, got, errors } = await client(proxy);
    socket.write('a');
    await until(() => got() === 'a');
    proxy.treat(BLACK_HOLE);
    socket.write('bcd');
    await until(() => proxy.counts.bytesDropped === 3);
    assert.deepEqual([socket.destroyed, seen[0]?.destroyed], [false, false]);
    proxy.pass();
    await until(() => socket.closed);
    assert.deepEqual([got(), errors], ['a', ['ECONNRESET']]);
  });

  it('is dead in one direction: the server gets what is sent, and its answers are gone, also its end', async () => {
    const { proxy, seen } = await startEcho();
    proxy.treat({ kind: 'drop', directions: ['down'] });
    const { socket, got } = await client(proxy);
    socket.write('abc');
    await until(() => proxy.counts.bytesDropped === 3);
    seen[0]?.end();
    await once(seen[0] as Socket, 'finish');
    socket.write('d');
    await until(() => seen[0]?.bytesRead === 4);
    assert.deepEqual([got(), socket.readable], ['', true]);
    proxy.pass();
  });

  it('leaves new connections well where only the open ones are dropped', async () => {
    const { proxy } = await startEcho();
    const old = await client(proxy);
    old.socket.write('a');
    await until(() => old.got() === 'a');
    proxy.treatOpen(BLACK_HOLE);
    const young = await client(proxy);
    for (const { socket } of [old, young]) socket.write('b');
    await until(() => young.got() === 'b');
    assert.equal(old.got(), 'a');
    for (const { socket } of [old, young]) socket.destroy();
  });

  it('cuts each connection after some bytes', async () => {
    const { proxy } = await startEcho();
    proxy.treat({ kind: 'cut', bytes: () => 3 });
    const { socket, got } = await client(proxy);
    for (const bytes of ['ab', 'cd', 'ef']) socket.write(bytes);
    await until(() => socket.closed);
    assert.ok('abc'.startsWith(got()) && got().length <= 3);
    assert.equal(proxy.counts.reset, 1);
  });

  it('resets connections and refuses new ones', async () => {
    const { proxy } = await startEcho();
    const first = await client(proxy);
    first.socket.write('a');
    await until(() => first.got() === 'a');
    proxy.treat({ kind: 'refuse' });
    await until(() => first.socket.closed);
    const second = await client(proxy);
    await until(() => second.socket.closed);
    assert.deepEqual([first.errors, proxy.counts.refused, proxy.counts.reset], [['ECONNRESET'], 1, 1]);
    proxy.pass();
    const third = await client(proxy);
    third.socket.end('a');
    await once(third.socket, 'close');
    assert.equal(third.got(), 'a');
  });
});

describe('a COMMIT that is cut', { skip: withoutPostgres }, () => {
  let own: TestDatabase;
  before(async () => {
    own = await testDatabase();
    await query(own.url, 'create table cut (moment text)');
  });
  after(() => own.drop());

  const isCommitted: Record<CommitMoment, boolean | undefined> = {
    before: false,
    'on its way': undefined, // the server reads it first, or finds out first that nobody is there
    after: true,
    unanswered: true,
  };

  for (const moment of commitMoments) {
    it(`${moment}: the client gets no answer; committed: ${isCommitted[moment] ?? 'either'}`, async () => {
      const cutter = new CommitCutter();
      const proxy = await TcpProxy.before(own.url, cutter.watch);
      const session = new pg.Client({ connectionString: proxy.inFrontOf(own.url), query_timeout: 500 });
      session.on('error', () => {});
      await session.connect();
      await session.query('begin');
      await session.query('insert into cut values ($1)', [moment]);
      cutter.begin(() => moment);
      await assert.rejects(session.query('commit'), /connection|timeout|ECONNRESET/i);
      assert.equal(cutter.cut[moment], 1);
      cutter.end();
      proxy.pass();
      const open = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`;
      await until(async () => (await query(own.url, open)).length === 0);
      const found = (await query(own.url, `select from cut where moment = '${moment}'`)).length === 1;
      if (isCommitted[moment] !== undefined) assert.equal(found, isCommitted[moment]);
      await session.end().catch(() => {});
    });
  }

  it('lets all other statements pass', async () => {
    const cutter = new CommitCutter();
    const proxy = await TcpProxy.before(own.url, cutter.watch);
    cutter.begin(() => 'before');
    const text = 'x'.repeat(100_000);
    assert.deepEqual(await query(proxy.inFrontOf(own.url), 'select $1::text as text', [text]), [{ text }]);
    assert.equal(cutter.cut.before, 0);
  });
});

async function query(url: string, text: string, values: unknown[] = []): Promise<unknown[]> {
  const session = new pg.Client({ connectionString: url });
  await session.connect();
  try {
    return (await session.query(text, values)).rows;
  } finally {
    await session.end();
  }
}
