import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { rest } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { FULL } from '../support/full.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { openStoreIn } from '../support/store.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const SECRETS = { SESSION_SECRET: 's'.repeat(40), SECRETS_KEY: Buffer.alloc(32, 5).toString('base64') };
const key = `ak_shutdown_${'k'.repeat(40)}`;

describe('SIGTERM', () => {
  it('lets a request that has begun finish, takes no new ones, and exits 0', async () => {
    await withFolder(async (folder) => {
      const server = await startProcess(folder, { BOOTSTRAP_API_KEY: key });
      const { hostname, port } = new URL(server.baseUrl);
      const body = JSON.stringify({ name: 'last', displayName: 'Last' });
      const socket = connect(Number(port), hostname);
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      const closed = once(socket, 'close');
      socket.write(`POST /api/v1/agents HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n`);
      socket.write(`Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`);
      await until(() => text.startsWith('HTTP/1.1 100 Continue\r\n'));
      const stopped = server.stop('SIGTERM');
      const isRefused = () =>
        fetch(server.baseUrl).then(
          () => false,
          () => true,
        );
      await until(isRefused);
      socket.write(body);
      await closed;
      assert.match(text, /\r\nHTTP\/1.1 201 /);
      assert.equal(await stopped, 0);
      const store = await openStoreIn(folder);
      assert.equal(await store.agents.count({ where: { name: 'last' } }), 1);
      await store.close();
    });
  });

  it('is said at /readyz first, while the server goes on for DRAIN_SECONDS', async () => {
    await withFolder(async (folder) => {
      const server = await startProcess(folder, { BOOTSTRAP_API_KEY: key, DRAIN_SECONDS: '1' });
      const status = async (path: string) => (await fetch(`${server.baseUrl}${path}`)).status;
      assert.equal(await status('/readyz'), 200);
      const stopped = server.stop('SIGTERM');
      await until(async () => (await status('/readyz')) === 503);
      assert.equal(await status('/api/v1/agents'), 401, 'calls are answered still');
      assert.equal(await stopped, 0);
    });
  });

  it('stores the entries of reads and the count of failed attempts before it exits', async () => {
    await withFolder(async (folder) => {
      const server = await startProcess(folder, { BOOTSTRAP_API_KEY: key });
      for (let n = 0; n < 3; n += 1) await rest(server, 'GET', '/api/v1/agents', { key: 'ak_wrong' });
      await rest(server, 'GET', '/api/v1/agents', { key });
      await server.stop('SIGTERM');
      const store = await openStoreIn(folder);
      const { records } = await store.audit.find({ limit: 10 });
      await store.close();
      assert.deepEqual(records.map(({ tool, outcome, code, arguments: args }) => [tool, outcome, code, args]).sort(), [
        ['authenticate', 'denied', 'unauthenticated', { attempts: 3 }],
        ['list_agents', 'ok', undefined, {}],
      ]);
    });
  });

  if (!FULL) return;

  it('is over before platforms kill, also where the database is silent and hears no goodbye', {
    skip: withoutPostgres,
  }, async () => {
    const { url, drop } = await testDatabase();
    const proxy = await TcpProxy.before(url);
    await withFolder(async (folder) => {
      const server = await startProcess(folder, { ...SECRETS, DATABASE_URL: proxy.inFrontOf(url) });
      await rest(server, 'GET', '/api/v1/agents', { key: 'ak_wrong' });
      proxy.treat({ kind: 'drop', directions: ['up'] });
      assert.equal(await server.stop('SIGTERM'), 1);
      assert.match(server.said(), /^The server could not end as it should: /m);
    });
    await proxy.close();
    await drop();
  });
});
