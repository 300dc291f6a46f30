import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { testFolder } from './folders.ts';

const script = join(import.meta.dirname, 'disk-writer.ts');

interface Outcome {
  acknowledged: string[];
  refused: string[];
  reasons: string[];
  full: { writable: boolean; lastError?: string; count: number; reserved: number };
  recovered: boolean;
}

async function check(folder: string, output: string, reason: string): Promise<void> {
  const { acknowledged, refused, reasons, full, recovered }: Outcome = JSON.parse(output);
  assert.deepEqual(reasons, [`StoreUnavailable ${reason}`]);
  assert.equal(full.writable, false);
  assert.match(full.lastError ?? '', new RegExp(reason));
  assert.equal(full.reserved, 0);
  assert.equal(full.count, acknowledged.length - 16);
  assert.ok(recovered, 'the store finds out that there is space again');
  assert.ok(acknowledged.includes('agt_after_15'));
  const store = await openLowdbStore({ folder });
  assert.equal(await store.agents.count({}), acknowledged.length);
  for (const id of acknowledged) assert.ok(await store.agents.get(id), id);
  const audits = (await store.audit.find({ limit: 100_000 })).records.map((entry) => entry.id);
  assert.deepEqual(audits.sort(), acknowledged.map((id) => `aud_${id}`).sort());
  for (const id of refused) assert.equal(await store.agents.get(id), undefined, id);
  await store.close();
}

describe('a full disk', () => {
  const noPrlimit = spawnSync('prlimit', ['--version']).error ? 'prlimit is needed to lift the limit again' : false;

  // `ulimit -f` makes write(2) fail with EFBIG for anybody; Node ignores the signal that comes with it.
  it('refuses writes at the limit of the file size and goes on when it is lifted', {
    skip: noPrlimit,
  }, async (test) => {
    const folder = await testFolder(test);
    const command = `ulimit -S -f 300; exec "$0" --import tsx "$1" "$2" limit`;
    const output = execFileSync('bash', ['-c', command, process.execPath, script, folder], { encoding: 'utf8' });
    await check(folder, output, 'EFBIG');
  });

  // Needs the right to mount, so it runs as root only.
  it('refuses writes on a full file system and goes on when there is space', async (test) => {
    const mount = await testFolder(test);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mount]).status !== 0) {
      test.skip('mounting a small tmpfs is not permitted here');
      return;
    }
    try {
      const folder = join(mount, 'data');
      mkdirSync(folder);
      writeFileSync(join(mount, 'filler'), Buffer.alloc(600 * 1024));
      await check(
        folder,
        execFileSync(process.execPath, ['--import', 'tsx', script, folder, 'mount'], { encoding: 'utf8' }),
        'ENOSPC',
      );
    } finally {
      spawnSync('umount', [mount]);
    }
  });
});
