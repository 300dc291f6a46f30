import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { StoreLocked } from '../../store/errors.ts';
import { FolderLock, holderOf as lockHolder } from '../../store/lowdb/files/lock.ts';
import { noProgress } from '../../store/open-progress.ts';
import { killedAtEnd } from '../support/at-end.ts';
import { nodeArgs } from '../support/node-args.ts';
import { until } from '../support/until.ts';
import { openIn, testFolder } from './folders.ts';

async function holderOf(folder: string): Promise<ChildProcess> {
  const script = join(import.meta.dirname, 'holder.ts');
  const child = killedAtEnd(
    spawn(process.execPath, [...nodeArgs(script), folder], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  await once(child.stdout, 'data');
  return child;
}

describe('the lock of a data folder', () => {
  it('refuses a second process, naming the first, and is free after its kill -9', async (test) => {
    const folder = await testFolder(test);
    const child = await holderOf(folder);
    const named = (error: unknown) =>
      error instanceof StoreLocked && error.message.includes(`process ${child.pid} on ${hostname()}`);
    await assert.rejects(openIn(folder), named);
    const link = join(await testFolder(test), 'link');
    await symlink(folder, link);
    await assert.rejects(openIn(link), named);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.ok((await readdir(folder)).includes('lock.json'));
    await (await openIn(folder)).close();
    assert.ok(!(await readdir(folder)).includes('lock.json'));
  });

  it('refuses a second store in the same process', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    await assert.rejects(openIn(folder), StoreLocked);
    await store.close();
    await (await openIn(folder)).close();
  });

  it('holds although somebody removes its file, on Linux', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    await rm(join(folder, 'lock.json'));
    if (process.platform === 'linux') await assert.rejects(openIn(folder), StoreLocked);
    await store.close();
  });

  it('leaves no file where there is no room for it', async (test) => {
    const folder = await testFolder(test);
    const script = join(import.meta.dirname, 'holder.ts');
    const args = ['-c', 'ulimit -S -f 0; exec "$0" "$@"', process.execPath, ...nodeArgs(script), folder];
    const { status, stderr } = spawnSync('sh', args, { encoding: 'utf8' });
    assert.notEqual(status, 0);
    assert.match(stderr, /EFBIG|no room/);
    assert.deepEqual(await readdir(folder), []);
  });

  it('shows other hosts that its holder goes on', async (test) => {
    const folder = await testFolder(test);
    await openIn(folder);
    const beat = async () => (await stat(join(folder, 'lock.json'))).mtimeMs;
    const first = await beat();
    await until(async () => (await beat()) > first);
  });

  it('respects a holder on another host while its heartbeat goes on, and no longer', async (test) => {
    const folder = await testFolder(test);
    const path = join(folder, 'lock.json');
    const { pid } = spawnSync('true'); // no process here has it
    await writeFile(path, JSON.stringify({ pid, host: 'elsewhere' }));
    const beat = setInterval(() => utimes(path, new Date(), new Date()), 300);
    await assert.rejects(openIn(folder), (error: Error) => error.message.includes(`process ${pid} on elsewhere`));
    clearInterval(beat);
    await openIn(folder);
    assert.equal(JSON.parse(await readFile(path, 'utf8')).host, hostname());
  });

  it('respects a process of a container of the same name, though the kernel does not name it, while its heartbeat goes on', async (test) => {
    const folder = await testFolder(test);
    const path = join(folder, 'lock.json');
    await writeFile(path, JSON.stringify({ pid: process.ppid, host: hostname() }));
    const beat = setInterval(() => utimes(path, new Date(), new Date()), 300);
    await assert.rejects(openIn(folder), (error: Error) => error.message.includes(`process ${process.ppid} on`));
    clearInterval(beat);
    await (await openIn(folder)).close();
  });

  it('is taken as soon as a holder on another host gives it up, and says meanwhile whom it waits for', async (test) => {
    const folder = await testFolder(test);
    const path = join(folder, 'lock.json');
    for (const [content, words] of [
      [JSON.stringify({ pid: 7, host: 'elsewhere' }), 'waiting whether process 7 on elsewhere still holds'],
      ['{"pid":', 'waiting whether another process still holds'],
    ] as const) {
      await writeFile(path, content);
      const said: string[] = [];
      const opening = { ...noProgress, step: (what: string) => void said.push(what) };
      const taken = FolderLock.take(folder, opening);
      await until(() => said.length > 0);
      await rm(path);
      await (await taken).release();
      assert.equal(said.length, 1);
      assert.ok(said[0]?.startsWith(words), said[0]);
    }
  });

  it('is not taken by a start that is ended while it waits for a holder elsewhere', async (test) => {
    const folder = await testFolder(test);
    const path = join(folder, 'lock.json');
    const content = JSON.stringify({ pid: 7, host: 'elsewhere' });
    await writeFile(path, content);
    const ended = new AbortController();
    const opening = { ...noProgress, signal: ended.signal, step: () => ended.abort() };
    await assert.rejects(FolderLock.take(folder, opening), { name: 'AbortError' });
    assert.equal(await readFile(path, 'utf8'), content);
    await rm(path);
    await (await FolderLock.take(folder)).release();
  });

  it('names the process that has it, as long as that goes on', async (test) => {
    const folder = await testFolder(test);
    const path = join(folder, 'lock.json');
    assert.equal(lockHolder(folder), undefined);
    const lock = await FolderLock.take(folder);
    assert.deepEqual(lockHolder(folder), { pid: process.pid, host: hostname() });
    await lock.release();
    await writeFile(path, JSON.stringify({ pid: 7, host: 'elsewhere' }));
    assert.deepEqual(lockHolder(folder), { pid: 7, host: 'elsewhere' });
    const before = new Date(Date.now() - 4100);
    await utimes(path, before, before);
    assert.equal(lockHolder(folder), undefined);
    await writeFile(path, 'something else');
    assert.equal(lockHolder(folder), undefined);
  });
});
