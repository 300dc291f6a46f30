import assert from 'node:assert/strict';
import { appendFile, readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { callTool, mustCall, rest } from '../support/calls.ts';
import { type ServerProcess, startProcess, withFolder } from '../support/child.ts';
import { until } from '../support/until.ts';

const key = `ak_damaged0_${'k'.repeat(40)}`;

const start = (folder: string) => startProcess(folder, { BOOTSTRAP_API_KEY: key });

async function journalOf(folder: string, agents = 5): Promise<string> {
  const server = await start(folder);
  for (let n = 0; n < agents; n += 1) {
    const body = { name: `agent ${n}`, displayName: 'x' };
    assert.equal((await rest(server, 'POST', '/api/v1/agents', { key, body })).status, 201);
  }
  await server.stop('SIGTERM');
  const [name = ''] = (await readdir(folder)).filter((file) => file.startsWith('journal-'));
  return join(folder, name);
}

const healthOf = async (server: ServerProcess, name: string) => {
  const { body } = await rest(server, 'GET', '/api/v1/agents/health', { key });
  return body.integrations.find((integration: { name: string }) => integration.name === name);
};

describe('a start on a data folder that was damaged', () => {
  it('refuses a journal of which the last part is gone, and says what is missing and what to do', async () => {
    await withFolder(async (folder) => {
      const journal = await journalOf(folder);
      await truncate(journal, Math.floor((await stat(journal)).size * 0.6));
      const refused = await start(folder).then(
        async (server) => `it started: ${await server.stop('SIGKILL')}`,
        (error: Error) => error.message,
      );
      assert.match(refused, /ended with 1: .*journal-\d+\.ndjson, offset \d+: transactions \d+ to \d+ are missing/);
      assert.match(refused, /npm run backup.*accept the loss.*`rm '.*manifest'`/);
    });
  });

  it('cuts off a line that was never acknowledged, and says so in the log, the health and the metrics', async () => {
    await withFolder(async (folder) => {
      const journal = await journalOf(folder);
      await appendFile(journal, '00000000 99 {"put":{"age');
      const server = await start(folder);
      await until(() => /cut off an unfinished line/.test(server.said()));
      assert.match(server.said(), /"level":40.*journal-\d+\.ndjson, line \d+, offset \d+: 24 bytes/);
      const { status, droppedLines } = await healthOf(server, 'store');
      assert.deepEqual([status, droppedLines], ['ok', 1]);
      const metrics = await fetch(`${server.baseUrl}/api/v1/metrics`, { headers: { authorization: `Bearer ${key}` } });
      assert.match(await metrics.text(), /^agent_admin_store_dropped_lines(\{.*\})? 1$/m);
      await server.stop('SIGTERM');
      const again = await start(folder);
      assert.equal((await healthOf(again, 'store')).droppedLines, undefined);
      await again.stop('SIGTERM');
    });
  });

  it('serves all but imported rows where these are damaged, and says what is and how to recover', async () => {
    await withFolder(async (folder) => {
      const server = await start(folder);
      const rows = [{ id: 'v1', visitorId: 'x', at: '2026-03-01T00:00:00.000Z', page: '/' }];
      const imported = { type: 'visits', records: rows };
      assert.equal((await mustCall(server, key, 'import_records', imported)).created, 1);
      await server.stop('SIGTERM');
      await truncate(join(folder, 'rows-1.duckdb'), 5000);
      const again = await start(folder);
      const told = /rows-1\.duckdb: .*restore a backup made with `npm run backup`/;
      await until(async () => (await healthOf(again, 'store')).status === 'degraded');
      assert.match((await healthOf(again, 'store')).lastError, told);
      const { status, body } = await rest(again, 'GET', '/api/v1/health', { key });
      assert.deepEqual([status, body.status], [200, 'degraded']);
      assert.match(body.problems.join(), told);
      const ready = await fetch(`${again.baseUrl}/readyz`);
      assert.equal(ready.status, 200);
      assert.match(await ready.text(), /^degraded: data are damaged; get_system_health says what/);
      const agent = { name: 'goes on', displayName: 'x' };
      assert.equal((await rest(again, 'POST', '/api/v1/agents', { key, body: agent })).status, 201);
      const refused = await callTool(again, key, 'import_records', imported);
      assert.ok('error' in refused && refused.error.code === 'unavailable');
      await again.stop('SIGTERM');
    });
  });
});
