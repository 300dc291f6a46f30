import assert from 'node:assert/strict';
import { it } from 'node:test';
import { callTool, mustCall, outcomeOf } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { until } from '../support/until.ts';

const key = `ak_fullheap_${'k'.repeat(40)}`;
const HEAP_MB = 140;
const TOO_SMALL_MB = 96;
const MOST = 4000;

const start = (folder: string, megabytes: number) =>
  startProcess(folder, { BOOTSTRAP_API_KEY: key, NODE_OPTIONS: `--max-old-space-size=${megabytes}` });

const artifact = (n: number) => ({ name: `artifact ${n}`, mimeType: 'text/plain', content: `${n} `.repeat(60_000) });

it('what would end the process for want of memory is refused with the remedy; reading, pausing and purging go on', async () => {
  await withFolder(async (folder) => {
    const server = await start(folder, HEAP_MB);
    const agent = await mustCall(server, key, 'create_agent', { name: 'ada', displayName: 'Ada' });
    const ids: string[] = [];
    let refused: Awaited<ReturnType<typeof callTool>> | undefined;
    for (let n = 0; !refused && n < MOST; n += 1) {
      const result = await callTool(server, key, 'create_artifact', artifact(n));
      if ('output' in result) ids.push(String(result.output.id));
      else refused = result;
    }
    assert.match(JSON.stringify(refused), /memory of the process .* is nearly full.*--max-old-space-size.*PostgreSQL/);
    assert.equal((await fetch(`${server.baseUrl}/readyz`)).status, 200);
    const health = await mustCall(server, key, 'check_health', {});
    assert.equal(health.status, 'degraded');
    assert.match(String(health.problems), /of its 140 MB of memory/);
    assert.equal((await mustCall(server, key, 'update_agent', { id: agent.id, status: 'paused' })).status, 'paused');
    assert.equal((await mustCall(server, key, 'get_artifact', { id: ids[0] })).name, 'artifact 0');
    await server.stop('SIGTERM');
    const tooSmall = await start(folder, TOO_SMALL_MB).then(
      () => 'it started',
      (error: Error) => error.message,
    );
    assert.match(tooSmall, /ended with 1: .*do not fit into the memory of the process .*--max-old-space-size/s);
    const again = await start(folder, HEAP_MB);
    const { total } = await mustCall(again, key, 'list_artifacts', { includeTotal: true });
    assert.equal(total, ids.length);
    for (const id of ids.slice(0, 30)) {
      await mustCall(again, key, 'purge_record', { entityType: 'artifact', id });
    }
    await until(async () => outcomeOf(await callTool(again, key, 'create_artifact', artifact(MOST))) === 'ok');
    await again.stop('SIGTERM');
  });
});
