import assert from 'node:assert/strict';
import { appendFile, copyFile, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { SETTINGS_ID } from '../../resources/settings.ts';
import { StoreDamaged } from '../../store/errors.ts';
import { type FileSystem, nodeFileSystem } from '../../store/lowdb/files/file-system.ts';
import { sealLine, unsealLine } from '../../store/lowdb/journal/line.ts';
import { journalHeaderLine } from '../../store/lowdb/journal/recovery.ts';
import type { LowdbOptions } from '../../store/lowdb/open.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { rounds } from '../support/full.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';
import { openIn, testFolder } from './folders.ts';
import { agentRecord, auditRecord } from './records.ts';

const JOURNAL = 'journal-00000001.ndjson';
const DAY = '2026-03-01T00:00:00.000Z';

/** A closed store with the agents a0, a1 … each written in its own transaction, with an audit entry. */
async function written(test: TestContext, agents: number, options: Partial<LowdbOptions> = {}): Promise<string> {
  const folder = await testFolder(test);
  const store = await openIn(folder, options);
  for (let at = 0; at < agents; at += 1) {
    await store.transaction(async (tx) => {
      await tx.agents.insert(agentRecord(`a${at}`, { id: `agt_${at}` }));
      tx.audit.append(auditRecord({ tool: `t${at}` }));
    });
  }
  if (options.compactBytes) await compacted(folder);
  await store.close();
  return folder;
}

/** A closed store with 21 agents in a snapshot, and the journal that it replaced. */
async function compactedOnce(test: TestContext): Promise<{ readonly folder: string; readonly old: Buffer }> {
  const folder = await written(test, 20);
  const old = await readFile(join(folder, JOURNAL));
  const store = await openIn(folder, { compactBytes: 1 });
  await writing(store).agents.insert(agentRecord('last'));
  await compacted(folder);
  await store.close();
  return { folder, old };
}

async function compacted(folder: string): Promise<void> {
  await until(async () => {
    const names = await journals(folder);
    return names.length === 1 && !names.includes(JOURNAL);
  });
}

async function contents(folder: string): Promise<{ agents: number; audit: number }> {
  const store = await openIn(folder);
  const agents = await store.agents.count({});
  const audit = (await store.audit.find({ limit: 1000 })).records.length;
  await store.close();
  return { agents, audit };
}

async function refusal(folder: string, options: Partial<LowdbOptions> = {}): Promise<string> {
  try {
    await (await openIn(folder, options)).close();
  } catch (error) {
    assert.ok(error instanceof StoreDamaged, String(error));
    return error.message;
  }
  return assert.fail('the damaged store was opened');
}

function everyOf(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, at) => from + at);
}

/** Places from here to before there: all with FULL=long, else the first, the last and some between. */
function someOf(from: number, to: number): number[] {
  return everyOf(from, to).filter((at) => (at - from) % rounds(7, 1) === 0 || at === to - 1);
}

describe('opening after a crash', () => {
  it('cuts a torn tail at every byte of the last line and goes on writing', async (test) => {
    const folder = await written(test, 2);
    const manifest = await readFile(join(folder, 'manifest'));
    const crashed = await openIn(folder);
    await writing(crashed).agents.insert(agentRecord('last'));
    await crashed.close();
    const whole = await readFile(join(folder, JOURNAL));
    const lastLine = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (const [count, cut] of someOf(lastLine, whole.length).entries()) {
      await writeFile(join(folder, JOURNAL), whole.subarray(0, cut));
      await writeFile(join(folder, 'manifest'), manifest);
      const store = await openIn(folder);
      assert.equal(await store.agents.count({}), 2, `cut at ${cut}`);
      assert.equal(store.status().dropped?.length ?? 0, cut > lastLine ? 1 : 0);
      if (count % 10 === 0) await writing(store).agents.insert(agentRecord('after'));
      await store.close();
      if (count % 10 === 0) assert.equal((await contents(folder)).agents, 3);
    }
    await writeFile(join(folder, JOURNAL), whole.subarray(0, lastLine));
    await writeFile(join(folder, 'manifest'), manifest);
    assert.deepEqual(await contents(folder), { agents: 2, audit: 2 });
  });

  it('refuses a flipped bit at every byte of a middle line, naming file and line', async (test) => {
    const folder = await written(test, 3);
    const whole = await readFile(join(folder, JOURNAL));
    const start = whole.indexOf(10, whole.indexOf(10) + 1) + 1;
    const end = whole.indexOf(10, start);
    for (const at of [...everyOf(start, start + 9), ...someOf(start + 9, end + 1)]) {
      // 0x20 turns the letters of a checksum into capitals.
      for (const bit of at < start + 8 ? [1 << (at % 8), 0x20] : [1 << (at % 8)]) {
        const flipped = Buffer.from(whole);
        flipped[at] = (whole[at] ?? 0) ^ bit;
        await writeFile(join(folder, JOURNAL), flipped);
        const message = await refusal(folder);
        assert.match(message, /journal-00000001\.ndjson, line 3: /, `flipped at ${at - start}`);
        assert.match(message, /npm run backup/);
      }
    }
  });

  it('refuses a damaged last line that is complete', async (test) => {
    const folder = await written(test, 2);
    const whole = await readFile(join(folder, JOURNAL));
    whole[whole.length - 5] = 0x21;
    await writeFile(join(folder, JOURNAL), whole);
    assert.match(await refusal(folder), /line 3: the checksum/);
  });

  it('gives a command that keeps what comes before the damage', async (test) => {
    const folder = await written(test, 4);
    const whole = await readFile(join(folder, JOURNAL));
    whole[whole.length - 500] = 0x21;
    await writeFile(join(folder, JOURNAL), whole);
    const command = /`truncate -s (\d+) '([^']+)'` and `rm '([^']+)'` loses this transaction and all later/;
    const [, size, path, manifest] = command.exec(await refusal(folder)) ?? [];
    await truncate(path ?? '', Number(size));
    await rm(manifest ?? '');
    const { agents } = await contents(folder);
    assert.ok(agents === 2 || agents === 3);
  });

  it('refuses a gap in the sequence', async (test) => {
    const folder = await written(test, 4);
    const lines = (await readFile(join(folder, JOURNAL), 'utf8')).split('\n');
    lines.splice(2, 1);
    await writeFile(join(folder, JOURNAL), lines.join('\n'));
    assert.match(await refusal(folder), /line 3: the sequence has a gap: transaction 2 is expected here, 3 is found/);
    const other = await written(test, 1);
    await appendLine(other, '{}', 3);
    assert.match(await refusal(other), /line 3: the sequence has a gap: transaction 2 is expected here, 3 is found/);
  });

  it('refuses a missing or empty journal, and the command it gives keeps the snapshot', async (test) => {
    const folder = await written(test, 2);
    await truncate(join(folder, JOURNAL), 0);
    assert.match(await refusal(folder), /the journal is empty/);
    await rm(join(folder, JOURNAL));
    const message = await refusal(folder);
    assert.match(message, /journal-00000001\.ndjson: the journal is missing/);
    const [, header, manifest] = /printf '%s\\n' '([^']+)' > [^`]+` and `rm '([^']+)'`/.exec(message) ?? [];
    await writeFile(join(folder, JOURNAL), `${header}\n`);
    await rm(manifest ?? '');
    assert.equal((await contents(folder)).agents, 0);
  });

  it('refuses a snapshot that is missing, cut short or changed', async (test) => {
    const folder = await written(test, 3, { compactBytes: 1 });
    const path = join(folder, 'db.json');
    const whole = await readFile(path);
    const refused = async (bytes: Uint8Array, message: RegExp) => {
      await writeFile(path, bytes);
      assert.match(await refusal(folder), message);
    };
    await refused(whole.subarray(0, whole.length - 40), /db\.json, line \d+: the file ends too early/);
    await refused(
      Buffer.from(whole.toString().replace('"paused"', '"active"').replace('"a0"', '"b0"')),
      /db\.json, line \d+: the checksum/,
    );
    await refused(
      Buffer.from(whole.toString().replace('"status":"active"', '"status":"gone"')),
      /db\.json, line 3: .*status/,
    );
    await rm(path);
    assert.match(await refusal(folder), /db\.json: the snapshot is missing/);
  });

  it('refuses a journal that says it is another', async (test) => {
    const folder = await written(test, 0);
    const header = (generation: number) => journalHeaderLine(1, generation, { sequence: 0, crc: 0 }).text;
    assert.equal(await readFile(join(folder, JOURNAL), 'utf8'), header(1));
    await writeFile(join(folder, JOURNAL), header(2));
    assert.match(await refusal(folder), /line 1: the header does not follow what comes before it/);
  });

  it('keeps out audit entries that were pruned, also where less was pruned later', async (test) => {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    for (const day of ['2026-03-01', '2026-03-02', '2026-03-03'])
      await store.transaction(async (tx) => tx.audit.append(auditRecord({ at: `${day}T00:00:00.000Z` })));
    for (const before of ['2026-03-03', '2026-03-02']) await store.audit.prune(`${before}T00:00:00.000Z`);
    await store.close();
    assert.equal((await contents(folder)).audit, 1);
  });

  it('refuses an audit entry that is none, naming its line and member', async (test) => {
    const { requestId: _, ...lacking } = auditRecord();
    for (const entry of [{}, [], lacking, { ...auditRecord(), at: 'page' }, { ...auditRecord(), principal: {} }]) {
      const folder = await written(test, 1);
      await appendLine(folder, JSON.stringify({ audit: [entry] }));
      assert.match(await refusal(folder), /journal-00000001\.ndjson, line 3: .*audit.*Or keep what comes before/s);
    }
  });

  it('refuses a record that does not fit its schema', async (test) => {
    const folder = await written(test, 1);
    const format = { number: 1, migrations: {} };
    await appendLine(folder, '{"put":{"agents":[{"id":"agt_x"}]}}');
    assert.match(
      await refusal(folder, { format }),
      /ndjson, line 3: the record agt_x does not fit the schema of agents/,
    );
  });

  it('refuses a newer format and says so', async (test) => {
    const folder = await written(test, 1, { format: { number: 7, migrations: {} } });
    assert.match(await refusal(folder), /has format 7, written by a newer version; this version knows formats up to 1/);
  });

  for (const [name, put] of Object.entries({
    'a kind of record': { robots: [{ id: 'rob_x' }] },
    'a member': {
      agents: [{ ...agentRecord('new'), id: 'agt_new', createdAt: DAY, updatedAt: DAY, revision: 1, mood: 'calm' }],
    },
  })) {
    it(`refuses ${name} of a newer version, and loses nothing of it`, async (test) => {
      const folder = await written(test, 1);
      await appendLine(folder, JSON.stringify({ put }));
      const before = await readFile(join(folder, JOURNAL));
      const message = await refusal(folder);
      assert.match(message, /written by a newer version\. Start the newer version, or restore a backup/);
      assert.doesNotMatch(message, /truncate/);
      assert.deepEqual(await readFile(join(folder, JOURNAL)), before);
    });
  }

  it('migrates snapshot and journals of an older format', async (test) => {
    const folder = await written(test, 2, { compactBytes: 1 });
    const older = await openIn(folder);
    await writing(older).agents.insert(agentRecord('journaled'));
    await older.close();
    const rename = (collection: string, record: Record<string, unknown>) =>
      collection === 'agents' ? { ...record, displayName: `${record.displayName} (migrated)` } : record;
    const format = { number: 3, migrations: { 1: rename, 2: (_: string, record: Record<string, unknown>) => record } };
    for (let time = 0; time < 2; time += 1) {
      const store = await openIn(folder, { format });
      const names = (await store.agents.find({ limit: 10 })).records.map((record) => record.displayName);
      assert.deepEqual(names.sort(), ['a0 (migrated)', 'a1 (migrated)', 'journaled (migrated)'], `start ${time}`);
      await compacted(folder);
      await store.close();
    }
    assert.match(await refusal(folder), /format 3/);
  });

  it('keeps a copy of an older format, with which the older version starts', async (test) => {
    const folder = await written(test, 2);
    const copy = join(folder, 'before-format-2');
    const format = { number: 2, migrations: { 1: (_: string, record: Record<string, unknown>) => record } };
    const files: FileSystem = { ...nodeFileSystem, syncFolder: () => Promise.reject(new Error('the disk broke')) };
    await assert.rejects(openIn(folder, { format, files }));
    await (await openIn(folder, { format })).close();
    assert.equal((await stat(copy)).mode & 0o777, 0o700);
    assert.deepEqual(await contents(copy), { agents: 2, audit: 2 });
    await (await openIn(folder, { format })).close();
    assert.deepEqual(await contents(copy), { agents: 2, audit: 2 });
    assert.ok(!(await readdir(folder)).some((name) => /draft/.test(name)));
  });

  for (const featureSwitches of [{ 'new-editor': true }, {}])
    it(`keeps the feature switches of earlier versions: ${JSON.stringify(featureSwitches)}`, async (test) => {
      const folder = await written(test, 1);
      const kept = await openIn(folder);
      await prepareSettings(kept);
      const settings = await kept.settings.get(SETTINGS_ID);
      await kept.close();
      const earlier = { ...settings, featureSwitches };
      await appendLine(folder, JSON.stringify({ put: { settings: [earlier] } }));
      const store = await openIn(folder);
      assert.deepEqual(await store.settings.get(SETTINGS_ID), earlier);
      const same = { workspaceName: settings?.workspaceName };
      assert.deepEqual(await writing(store).settings.update(SETTINGS_ID, same), earlier);
      await store.close();
    });

  it('keeps the file and folder private', async (test) => {
    const folder = await written(test, 1);
    assert.equal((await stat(join(folder, 'audit'))).mode & 0o777, 0o700);
    const files = [JOURNAL, 'db.json', `audit/${new Date().toISOString().slice(0, 10)}.ndjson`];
    for (const name of files) assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600, name);
  });
});

describe('opening after a crash during the first start', () => {
  it('begins again wherever it stopped', async (test) => {
    const folder = await written(test, 0);
    const header = await readFile(join(folder, JOURNAL));
    await copyFile(join(folder, 'manifest'), join(folder, 'manifest-of-then'));
    for (const journal of [undefined, header.subarray(0, 0), header.subarray(0, 9), header]) {
      await rm(join(folder, 'db.json'), { force: true });
      await rm(join(folder, JOURNAL), { force: true });
      for (const name of await journals(folder)) await rm(join(folder, name));
      if (journal) await writeFile(join(folder, JOURNAL), journal);
      await copyFile(join(folder, 'manifest-of-then'), join(folder, 'manifest'));
      for (let agents = 0; agents < 3; agents += 1) {
        const store = await openIn(folder);
        assert.equal(await store.agents.count({}), agents);
        await writing(store).agents.insert(agentRecord(`a${agents}`));
        await store.close();
      }
    }
  });

  it('takes journals without a snapshot when they go back to the first transaction', async (test) => {
    const folder = await written(test, 3);
    await rm(join(folder, 'db.json'));
    for (let start = 0; start < 3; start += 1) assert.deepEqual(await contents(folder), { agents: 3, audit: 3 });
  });
});

describe('opening after a crash during compaction', () => {
  it('ignores a half-written snapshot', async (test) => {
    const folder = await written(test, 3);
    await writeFile(join(folder, 'db.json.tmp'), '{"format":1,"gen');
    assert.deepEqual(await contents(folder), { agents: 3, audit: 3 });
    assert.ok(!(await readdir(folder)).includes('db.json.tmp'));
  });

  it('finishes a next journal that has no header or half of one', async (test) => {
    for (const half of ['', '0badc0de 3 {"for']) {
      const folder = await written(test, 3);
      await writeFile(join(folder, 'journal-00000002.ndjson'), half);
      const store = await openIn(folder);
      await writing(store).agents.insert(agentRecord('next'));
      await store.close();
      assert.deepEqual(await contents(folder), { agents: 4, audit: 3 });
    }
  });

  it('reads several journals and merges them', async (test) => {
    const folder = await written(test, 3);
    await breakCompaction(folder, 3);
    assert.ok((await journals(folder)).length > 1);
    const store = await openIn(folder);
    assert.equal(await store.agents.count({}), 6);
    await compacted(folder);
    await store.close();
    assert.deepEqual(await contents(folder), { agents: 6, audit: 3 });
    JSON.parse(await readFile(join(folder, 'db.json'), 'utf8'));
  });

  it('takes a new snapshot beside the journals it replaces', async (test) => {
    const { folder, old } = await compactedOnce(test);
    await writeFile(join(folder, JOURNAL), old);
    assert.deepEqual(await contents(folder), { agents: 21, audit: 20 });
    assert.ok(!(await readdir(folder)).includes(JOURNAL));
  });

  it('refuses a snapshot beside older journals alone', async (test) => {
    const { folder, old } = await compactedOnce(test);
    const [next = ''] = await journals(folder);
    await rm(join(folder, next));
    await rm(join(folder, 'manifest'));
    await writeFile(join(folder, JOURNAL), old);
    assert.match(await refusal(folder), new RegExp(`${next}: the journal is missing`));
  });

  it('refuses a missing or damaged journal in the middle', async (test) => {
    const folder = await written(test, 3);
    await breakCompaction(folder, 3);
    const [first = '', second = ''] = await journals(folder);
    await rename(join(folder, second), join(folder, 'aside'));
    await writeFile(join(folder, 'journal-00000009.ndjson'), '');
    assert.match(await refusal(folder), new RegExp(`${second}: the journal is missing`));
    await rm(join(folder, 'journal-00000009.ndjson'));
    await rename(join(folder, 'aside'), join(folder, second));
    await truncate(join(folder, first), (await stat(join(folder, first))).size - 3);
    assert.match(await refusal(folder), new RegExp(`${first}, line \\d: the line is cut short. .*truncate -s`));
  });

  it('writes snapshots that are ordinary JSON', async (test) => {
    const folder = await written(test, 2, { compactBytes: 1 });
    const snapshot = JSON.parse(await readFile(join(folder, 'db.json'), 'utf8'));
    assert.equal(snapshot.format, 1);
    assert.ok(snapshot.collections.agents.length >= 1);
  });
});

/** Adds agents while every snapshot fails, as a crash between journal and snapshot would leave it. */
async function breakCompaction(folder: string, agents: number): Promise<void> {
  let failed = 0;
  const files = {
    ...nodeFileSystem,
    rename: async () => {
      failed += 1;
      throw new Error('stopped here');
    },
  };
  const store = await openIn(folder, { files, compactBytes: 1, compactRetryMs: 1 });
  for (let at = 0; at < agents; at += 1) {
    const before = failed;
    await writing(store).agents.insert(agentRecord(`late${at}`));
    await until(() => failed > before && store.status().lastError !== undefined);
  }
  assert.match(store.status().lastError ?? '', /stopped here/);
  await store.close();
}

async function journals(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.startsWith('journal-')).sort();
}

/** A line with the right checksum, and the right number unless another is given. */
async function appendLine(folder: string, json: string, number?: number): Promise<void> {
  const path = join(folder, JOURNAL);
  let crc = 0;
  let sequence = -1;
  for (const line of (await readFile(path, 'utf8')).split('\n').slice(0, -1)) {
    crc = unsealLine(Buffer.from(`${line}\n`), crc)?.crc ?? assert.fail(line);
    sequence += 1;
  }
  await appendFile(path, sealLine(String(number ?? sequence + 1), json, crc).text);
}
