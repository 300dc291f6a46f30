import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { StoreDamaged } from '../../store/errors.ts';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import { killedAtEnd } from '../support/at-end.ts';
import { rounds } from '../support/full.ts';
import { nodeArgs } from '../support/node-args.ts';
import { writing } from '../support/writing.ts';
import { openIn, testFolder } from './folders.ts';
import { agentRecord, auditRecord } from './records.ts';

const everything = { limit: 10_000_000 };

describe('a backup', () => {
  it('of a server under write load has all that was acknowledged before it began, in whole transactions', async (test) => {
    const folder = await testFolder(test);
    const script = join(import.meta.dirname, 'backup-writer.ts');
    const child = killedAtEnd(
      spawn(process.execPath, [...nodeArgs(script), folder], { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    const acknowledged: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => acknowledged.push(line));
    try {
      await once(child.stdout, 'data');
      for (let round = 0; round < rounds(4, 8); round += 1) {
        await new Promise((resolve) => setTimeout(resolve, 60));
        const before = acknowledged.filter((id) => /^agt_\d+_\d+$/.test(id));
        const target = join(await testFolder(test), 'copy');
        await copySnapshot(folder, target);
        const copy = await openIn(target);
        const agents = (await copy.agents.find(everything)).records.map(({ id }) => id);
        const skills = (await copy.skills.find(everything)).records.map(({ id }) => id.replace('skl', 'agt'));
        const audits = (await copy.audit.find(everything)).records.map(({ id }) => id.replace('aud', 'agt'));
        assert.deepEqual(skills.sort(), agents.sort());
        assert.deepEqual(audits.sort(), agents);
        const kept = new Set(agents);
        for (const id of before) assert.ok(kept.has(id), id);
        await copy.close();
      }
      assert.ok(acknowledged.length > 100);
      const journals = (await readdir(folder)).filter((name) => name.startsWith('journal-'));
      assert.ok(!journals.includes('journal-00000001.ndjson'), 'a compaction has taken place meanwhile');
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  it('of a stopped server changes nothing there and takes other files along', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    await writing(store).agents.insert(agentRecord('a'));
    store.audit.append(auditRecord());
    await store.close();
    await writeFile(join(folder, 'secrets.json'), '{}');
    await chmod(join(folder, 'secrets.json'), 0o600);
    const before = await fingerprint(folder);
    const target = await testFolder(test);
    await copySnapshot(folder, target);
    assert.deepEqual(await fingerprint(folder), before);
    assert.equal((await stat(join(target, 'secrets.json'))).mode & 0o777, 0o600);
    const copy = await openIn(target);
    assert.equal(await copy.agents.count({}), 1);
    assert.equal((await copy.audit.find(everything)).records.length, 1);
  });

  it('refuses a source that lacks what was acknowledged, also at the end of a line', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    for (const name of ['a', 'b']) await writing(store).agents.insert(agentRecord(name));
    await store.close();
    const journal = join(folder, 'journal-00000001.ndjson');
    const lines = (await readFile(journal, 'utf8')).split('\n');
    await writeFile(journal, `${lines.slice(0, 2).join('\n')}\n`);
    await assert.rejects(copySnapshot(folder, await testFolder(test)), /transaction 2 is missing/);
  });

  it('refuses a target that holds something, a source that is no data folder, and a damaged one', async (test) => {
    const folder = await testFolder(test);
    await assert.rejects(copySnapshot(folder, join(folder, 'copy')), /is not a data folder/);
    await (await openIn(folder)).close();
    const target = await testFolder(test);
    await mkdir(join(target, 'something'));
    await assert.rejects(copySnapshot(folder, target), /is not empty/);
    await writeFile(join(folder, 'journal-00000001.ndjson'), 'nonsense\n');
    const empty = await testFolder(test);
    await assert.rejects(copySnapshot(folder, empty), StoreDamaged);
    assert.deepEqual(await readdir(empty), []);
  });
});

async function fingerprint(folder: string): Promise<string[]> {
  const names = (await readdir(folder, { recursive: true })).sort();
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return (await stat(path)).isFile() ? `${name} ${await readFile(path, 'utf8')}` : name;
    }),
  );
}
