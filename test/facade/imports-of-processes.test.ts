// alone: two servers, which keep both processors busy
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { mustCall, rest } from '../support/calls.ts';
import { type ServerProcess, startProcess, withFolder } from '../support/child.ts';
import { rounds } from '../support/full.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';

const KEY = `ak_importer_${'k'.repeat(40)}`;
const SECRETS = {
  BOOTSTRAP_API_KEY: KEY,
  SESSION_SECRET: 's'.repeat(40),
  SECRETS_KEY: Buffer.alloc(32, 5).toString('base64'),
  BASE_URL: 'http://imports.example',
  LOG_LEVEL: 'fatal',
  RATE_LIMIT_PER_MINUTE: '100000',
};
/** Imports of each process, one after the other. */
const IMPORTS = rounds(8, 40);
const ROWS = 20;
const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1);

const call = (server: ServerProcess, name: string, input: object) =>
  rest(server, 'POST', '/api/v1/mcp', {
    key: KEY,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } },
  });

it('two processes that import beside other calls answer each import, and each removal of a user, without a failure of the server', {
  skip: withoutPostgres,
}, async () => {
  const { url } = await testDatabase();
  await withFolder(async (folder) => {
    const start = (name: string) => startProcess(join(folder, name), { ...SECRETS, DATABASE_URL: url });
    const first = await start('first');
    const second = await start('second');
    const servers = [first, second];
    const refused: string[] = [];
    const isAnswered = async (server: ServerProcess, name: string, input: object) => {
      const { status, body } = await call(server, name, input);
      const isDone = status === 200 && !body.result?.isError;
      if (!isDone) refused.push(`${name}: ${status} ${JSON.stringify(body)}`);
      return isDone;
    };
    let imported = 0;
    const imports = async (server: ServerProcess, process: number) => {
      for (let at = 0; at < IMPORTS; at += 1) {
        const records = Array.from({ length: ROWS }, (_, row) => ({
          id: `e${process}-${at}-${row}`,
          uid: `u${process}-${row}`,
          name: 'opened',
          at: new Date(START_MS + at * DAY_MS + row).toISOString(),
        }));
        if (await isAnswered(server, 'import_records', { type: 'events', records })) imported += 1;
      }
    };
    // Users whom nobody imports, since a removed user's rows would be missing in the count.
    const removals = async (server: ServerProcess, process: number) => {
      for (let at = 0; at < IMPORTS; at += 1) {
        const uid = `gone${process}-${at}`;
        const records = [{ uid, email: `${uid}@example.com`, status: 'FREE', createdAt: '2026-01-01T00:00:00Z' }];
        await isAnswered(server, 'import_records', { type: 'users', records });
        await isAnswered(server, 'delete_user', { id: uid, reason: 'asked for it' });
      }
    };
    const others = async (server: ServerProcess, process: number) => {
      for (let at = 0; at < IMPORTS; at += 1) {
        await isAnswered(server, 'create_document', { title: `d${process}-${at}`, content: 'x' });
        await isAnswered(server, 'get_active_users', { from: '2026-01-01', to: '2026-02-28' });
      }
    };
    await Promise.all(
      servers.flatMap((server, process) => [
        imports(server, process),
        removals(server, process),
        others(server, process),
      ]),
    );
    assert.deepEqual(refused, []);
    const found = await mustCall(first, KEY, 'get_active_users', { from: '2026-01-01', to: '2026-02-28' });
    assert.deepEqual([imported, found.totals.activeUsers], [2 * IMPORTS, 2 * ROWS]);
    for (const server of servers) await server.stop('SIGTERM');
  });
});
