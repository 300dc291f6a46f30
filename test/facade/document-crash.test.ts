import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';
import { mustCall } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { until } from '../support/until.ts';

const key = `ak_abcdefgh_${'x'.repeat(43)}`;
/** Takes the parser longer than it may have. */
const SLOW = `<html>${'<div>'.repeat(200_000)}x`;

/** Processes that convert files, by their parents. */
function converters(): { readonly pid: number; readonly parent: number }[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8', maxBuffer: 1e8 }).split('\n');
  return lines
    .filter((line) => line.includes('side-process/child.mjs'))
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0]) => ({ pid, parent }));
}

it('a crash of the server in the middle of a conversion leaves no half document and no process', async () => {
  await withFolder(async (folder) => {
    const dataDir = join(folder, 'data');
    const first = await startProcess(dataDir, { BOOTSTRAP_API_KEY: key });
    const headers = { Authorization: `Bearer ${key}` };
    const send = (name: string, body: string) =>
      fetch(`${first.baseUrl}/api/v1/documents?name=${name}`, { method: 'POST', headers, body });
    const before = converters().map(({ pid }) => pid);
    assert.equal((await send('kept.html', '<html><p>Kept')).status, 201);
    const [own] = converters().filter(({ pid }) => !before.includes(pid));
    assert.ok(own);
    const cut = send('cut.html', SLOW).catch(() => 'cut off');
    const busy = async () => {
      const [, , , , , , , , , , , , , used] = execFileSync('cat', [`/proc/${own.pid}/stat`], {
        encoding: 'utf8',
      }).split(' ');
      return Number(used);
    };
    const idle = await busy();
    await until(async () => (await busy()) > idle + 50); // hundredths of a second
    await first.stop('SIGKILL');
    assert.equal(await cut, 'cut off');
    await until(async () => !converters().some(({ pid }) => pid === own.pid));
    const second = await startProcess(dataDir);
    const { data } = await mustCall(second, key, 'list_documents', {});
    assert.deepEqual(
      data.map(({ title }: { title: string }) => title),
      ['kept'],
    );
    await second.stop('SIGTERM');
  });
});
