import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { StoreLocked } from '../../store/errors.ts';
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
    await writeFile(path, JSON.stringify({ pid: 1, host: 'elsewhere' }));
    const beat = setInterval(() => utimes(path, new Date(), new Date()), 300);
    await assert.rejects(openIn(folder), /process 1 on elsewhere/);
    clearInterval(beat);
    await openIn(folder);
    assert.equal(JSON.parse(await readFile(path, 'utf8')).host, hostname());
  });
});
