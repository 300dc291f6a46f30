import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rest } from '../support/calls.ts';
import { type StartingProcess, spawnServer, withFolder } from '../support/child.ts';
import { freePort } from '../support/free-port.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { TcpProxy, type Treatment } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const SECRETS = { SESSION_SECRET: 's'.repeat(40), SECRETS_KEY: Buffer.alloc(32, 5).toString('base64') };

const LATE: Readonly<Record<string, Treatment>> = {
  'refuses connections': { kind: 'refuse' },
  'takes connections and does not answer': { kind: 'hold' },
};

/** The server as it starts on a database behind this proxy, and what it has said so far. */
async function startBehind(
  work: (start: StartingProcess & { readonly baseUrl: string }, proxy: TcpProxy) => Promise<void>,
  treatment: Treatment,
  waitSeconds = '60',
) {
  const { url, drop } = await testDatabase();
  const [proxy, port] = await Promise.all([TcpProxy.before(url), freePort()]);
  proxy.treat(treatment);
  await withFolder(async (folder) => {
    const env = {
      ...SECRETS,
      PORT: String(port),
      DATABASE_URL: proxy.inFrontOf(url),
      DATABASE_WAIT_SECONDS: waitSeconds,
    };
    const start = await spawnServer(folder, env);
    await work({ ...start, baseUrl: `http://127.0.0.1:${port}` }, proxy);
    start.process.kill('SIGTERM');
    await start.ended;
  });
  await proxy.close();
  await drop();
}

describe('a server that starts before its database', { skip: withoutPostgres }, () => {
  for (const [what, treatment] of Object.entries(LATE)) {
    it(`says that it waits while the database ${what}, to probes too, and serves when it is there`, async () => {
      await startBehind(async ({ said, listens, baseUrl }, proxy) => {
        await until(() => /It is waited for, \d+ s at most \(DATABASE_WAIT_SECONDS\)\./.test(said()));
        await until(() => /^Starting for \d+ s: still waiting for the database\.$/m.test(said()));
        assert.equal((await rest({ baseUrl }, 'GET', '/readyz')).status, 503);
        const { status, body } = await rest({ baseUrl }, 'GET', '/api/v1/agents');
        assert.deepEqual([status, body.error], [503, 'The server is starting; ask again soon.']);
        proxy.pass();
        assert.equal(await listens, baseUrl);
        assert.equal((await rest({ baseUrl }, 'GET', '/readyz')).status, 200);
      }, treatment);
    });
  }

  it('ends by a signal while it waits, and by itself with what to do when it has waited as long as it may', async () => {
    await startBehind(
      async ({ said, process, ended }) => {
        await until(() => said().includes('It is waited for'));
        process.kill('SIGTERM');
        assert.equal((await ended).code, 0, said());
      },
      { kind: 'refuse' },
    );
    await startBehind(
      async ({ said, ended }) => {
        assert.equal((await ended).code, 1);
        assert.match(said(), /The database of DATABASE_URL cannot be used: /);
      },
      { kind: 'refuse' },
      '1',
    );
  });
});
