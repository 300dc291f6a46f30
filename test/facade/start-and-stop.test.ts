import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { spawnServer, withFolder } from '../support/child.ts';
import { DoorProbes, doorsOf } from '../support/door-probes.ts';
import { freePort } from '../support/free-port.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';

const KEY = `ak_startstp_${'k'.repeat(40)}`;
const ENV = {
  BOOTSTRAP_API_KEY: KEY,
  SECRETS_KEY: Buffer.alloc(32, 3).toString('base64'),
  RATE_LIMIT_PER_MINUTE: '0',
  LOG_LEVEL: 'error',
};
const KINDS = ['lowdb', 'postgres'] as const;

/** An empty database without tables. */
const EMPTY = 'template1';

describe('the first start of a process, probed at every door', () => {
  for (const kind of KINDS) {
    const skip = kind === 'postgres' && withoutPostgres;
    it(`on ${kind} answers 503 until it can judge the key, and never ends`, { skip }, async () => {
      await withFolder(async (folder) => {
        const database = kind === 'postgres' ? await testDatabase(EMPTY) : undefined;
        const port = String(await freePort());
        const env = { ...ENV, PORT: port, ...(database && { DATABASE_URL: database.url }) };
        const probes = new DoorProbes(`http://127.0.0.1:${port}`, doorsOf(KEY));
        const server = await spawnServer(folder, env);
        await Promise.race([probes.allRight(), server.ended]);
        await probes.stop();
        server.process.kill('SIGTERM');
        assert.deepEqual(await server.ended, { code: 0, signal: null }, server.said());
        assert.deepEqual([...probes.wrong], [], JSON.stringify([...probes.answers]));
        await database?.drop();
      });
    });
  }
});
