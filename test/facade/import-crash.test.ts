import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { mustCall } from '../support/calls.ts';
import { runFile, startProcess, withFolder } from '../support/child.ts';

const key = `ak_abcdefgh_${'x'.repeat(43)}`;
const ROWS = 20_000;

it('an import that a crash of the server cut short keeps whole calls only, and is completed by importing the file again', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'events.ndjson');
    const lines = Array.from({ length: ROWS }, (_, at) =>
      JSON.stringify({ id: `e${at}`, uid: `u${at}`, name: 'opened', at: '2026-01-01T00:00:00Z' }),
    );
    writeFileSync(file, lines.join('\n'));
    const dataDir = join(folder, 'data');
    const first = await startProcess(dataDir, { BOOTSTRAP_API_KEY: key });
    const run = (baseUrl: string) =>
      runFile('facade/commands/import.ts', { args: ['events', file], env: { BASE_URL: baseUrl, API_KEY: key } });
    const cut = run(first.baseUrl);
    const range = { from: '2026-01-01', to: '2026-01-02' };
    const count = async (baseUrl: string): Promise<number> =>
      (await mustCall({ baseUrl }, key, 'get_active_users', range)).totals.activeUsers;
    while ((await count(first.baseUrl)) < 2000) await new Promise((resolve) => setTimeout(resolve, 5));
    const acknowledged = await count(first.baseUrl);
    await first.stop('SIGKILL');
    assert.equal((await cut).code, 1);
    const second = await startProcess(dataDir);
    const kept = await count(second.baseUrl);
    assert.ok(kept >= acknowledged && kept % 1000 === 0, `${kept} after ${acknowledged}`);
    const { code, stdout } = await run(second.baseUrl);
    assert.deepEqual([code, stdout], [0, `events: ${ROWS - kept} new, 0 changed, ${kept} unchanged, 0 refused.\n`]);
    assert.equal(await count(second.baseUrl), ROWS);
    await second.stop('SIGTERM');
  });
});
