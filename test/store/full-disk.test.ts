import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { OperatorError } from '../../store/errors.ts';
import { nodeArgs } from '../support/node-args.ts';
import { FailingFiles } from './failing-files.ts';
import { openIn, testFolder } from './folders.ts';

const script = join(import.meta.dirname, 'disk-writer.ts');
const rowsScript = join(import.meta.dirname, 'rows-disk-writer.ts');

interface Outcome {
  acknowledged: string[];
  refused: string[];
  reasons: string[];
  full: { writable: boolean; lastError?: string; count: number; reserved: number };
  /** False where nothing can make space in a running process. */
  relieved: boolean;
  recovered: boolean;
}

async function check(output: string, reason: string): Promise<Outcome> {
  const outcome: Outcome = JSON.parse(output);
  const { acknowledged, refused, reasons, full, relieved, recovered } = outcome;
  assert.ok(refused.length > 0);
  assert.deepEqual(reasons, [`DiskFull ${reason}`]);
  assert.equal(full.writable, false);
  assert.match(full.lastError ?? '', new RegExp(reason));
  assert.equal(full.reserved, 0);
  assert.equal(full.count, acknowledged.filter((id) => !id.includes('after')).length);
  if (!relieved) return outcome;
  assert.ok(recovered, 'the store finds out that there is space again');
  assert.ok(acknowledged.includes('agt_after_15'));
  return outcome;
}

/** Exactly what was acknowledged is there, complete. */
async function checkFolder(folder: string, { acknowledged, refused }: Outcome): Promise<void> {
  const store = await openIn(folder);
  assert.equal(await store.agents.count({}), acknowledged.length);
  for (const id of acknowledged) assert.ok(await store.agents.get(id), id);
  const audits = (await store.audit.find({ limit: 100_000 })).records.map((entry) => entry.id);
  assert.deepEqual(audits.sort(), acknowledged.map((id) => `aud_${id}`).sort());
  for (const id of refused) assert.equal(await store.agents.get(id), undefined, id);
  await store.close();
}

/** `ulimit -f` makes write(2) fail with EFBIG for anybody; Node ignores the signal that comes with it. */
function writeUnderLimit(folder: string, blocks: number, script: string, mode: string): string {
  const command = `ulimit -S -f ${blocks}; exec "$0" "$@"`;
  return execFileSync('sh', ['-c', command, process.execPath, ...nodeArgs(script), folder, mode], { encoding: 'utf8' });
}

/** Runs in a namespace of its own, so that nothing stays mounted. Undefined if that is not permitted. */
function writeOnSmallFileSystem(folder: string): string | undefined {
  const mount =
    'small="$1"; kept="$2"; shift 2; mount -t tmpfs -o size=1m tmpfs "$small" && mkdir "$small/data" && head -c 614400 /dev/zero > "$small/filler"';
  const write = '"$@" "$small/data" mount && cp -R "$small/data/." "$kept"';
  for (const namespace of [['--mount'], ['--user', '--map-root-user', '--mount']]) {
    const small = join(folder, 'small');
    const kept = join(folder, 'kept');
    for (const path of [small, kept]) mkdirSync(path, { recursive: true });
    const command = [
      'sh',
      '-c',
      `${mount} || exit 77; ${write}`,
      'sh',
      small,
      kept,
      process.execPath,
      ...nodeArgs(script),
    ];
    const { status, stdout, error, stderr } = spawnSync('unshare', [...namespace, ...command], { encoding: 'utf8' });
    if (status === 0) return stdout;
    if (!error && status !== 77 && !/unshare/.test(stderr)) throw new Error(stderr);
  }
  return undefined;
}

describe('a full disk', () => {
  it('refuses writes at the limit of the file size and goes on when it is lifted', async (test) => {
    const folder = await testFolder(test);
    await checkFolder(folder, await check(writeUnderLimit(folder, 600, script, 'limit'), 'EFBIG'));
  });

  it('refuses writes on a full file system and goes on when there is space', async (test) => {
    const folder = await testFolder(test);
    const output = writeOnSmallFileSystem(folder);
    if (output) return checkFolder(join(folder, 'kept'), await check(output, 'ENOSPC'));
    test.diagnostic('no file system can be mounted here: it is another limit of the file size that refuses');
    await checkFolder(folder, await check(writeUnderLimit(folder, 250, script, 'limit'), 'EFBIG'));
  });

  it('refuses the first import without leaving half a file, and takes it once there is room', async (test) => {
    const folder = await testFolder(test);
    const output = writeUnderLimit(folder, 16, rowsScript, 'first');
    const { acknowledged, refused, reasons, messages, files, relieved } = JSON.parse(output);
    assert.deepEqual([refused, reasons], [['first'], ['DiskFull']]);
    assert.match(messages[0], /no room for the change in .*rows-1\.duckdb .*Make room on that disk/);
    assert.deepEqual(files, [], 'no file of rows is left');
    assert.deepEqual(acknowledged, relieved ? ['later'] : []);
    const store = await openIn(folder);
    assert.equal(store.status().damage, undefined);
    await store.rows.check();
  });

  it('names the folder and the remedy where a start finds no room, and starts once there is some', async (test) => {
    const folder = await testFolder(test);
    for (const path of [/journal/, /db\.json/]) {
      const files = Object.assign(new FailingFiles(), { failure: 'write' as const, path });
      await assert.rejects(openIn(folder, { files }), (error: Error) => {
        assert.ok(error instanceof OperatorError);
        assert.match(
          error.message,
          new RegExp(`no room in the data folder ${folder} .*Make room on that disk, or set DATA_DIR`),
        );
        return true;
      });
      assert.equal(files.held.size, 0, 'a start that fails leaves no file open');
    }
    const store = await openIn(folder);
    assert.ok(store.status().writable);
  });

  for (const [what, size, blocks] of [
    ['the log of imported rows', 'short', 3000],
    ['the file into which the engine merges that log', 'long', 50_000],
  ] as const) {
    it(`refuses imports at the limit of ${what}, answers questions, and goes on when it is lifted`, async (test) => {
      const folder = await testFolder(test);
      const output = writeUnderLimit(folder, blocks, rowsScript, size);
      const { acknowledged, refused, reasons, whileFull, relieved, after } = JSON.parse(output);
      assert.deepEqual(reasons, ['DiskFull']);
      assert.ok(refused.includes('again'));
      assert.equal(after, acknowledged.length);
      assert.equal(whileFull, acknowledged.filter((name: string) => name !== 'later').length);
      assert.equal(acknowledged.includes('later'), relieved);
      const store = await openIn(folder);
      await store.rows.check();
      const [found] = await store.rows.query<{ rows: number }>(
        { name: 'imports', sql: 'select count(distinct split_part(id, $1, 1)) as rows from visits' },
        ['_'],
      );
      assert.equal(found?.rows, acknowledged.length);
      assert.equal(await store.audit.count({ tool: 'import_records' }), acknowledged.length);
      await store.close();
    });
  }
});
