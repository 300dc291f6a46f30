import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { StoreDamaged } from '../../store/errors.ts';
import { nodeFileSystem } from '../../store/lowdb/files/file-system.ts';
import { Manifest } from '../../store/lowdb/files/manifest.ts';
import { sealLine } from '../../store/lowdb/journal/line.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';
import { FailingFiles } from './failing-files.ts';
import { openIn, temporaryFolder, testFolder, withoutManifest } from './folders.ts';
import { agentRecord, auditRecord } from './records.ts';

const DAYS = ['2026-03-01', '2026-03-02'] as const;
const everything = { limit: 10_000 };

/** A folder as `kill -9` leaves it, an earlier state of it, and what was acknowledged. */
interface Left {
  readonly folder: string;
  readonly earlier: string;
  readonly agents: readonly string[];
  readonly entries: readonly string[];
}

/** Writes on two days with a compaction in between, and copies the folder twice while the store has it open. */
async function leave(root: string): Promise<Left> {
  const [folder, earlier, open] = [join(root, 'left'), join(root, 'earlier'), join(root, 'open')];
  const store = await openIn(open, { compactBytes: 6000 });
  const agents: string[] = [];
  const entries: string[] = [];
  for (let at = 0; at < 24; at += 1) {
    const entry = auditRecord({ id: `aud_${at}`, at: `${DAYS[at < 12 ? 0 : 1]}T00:00:${10 + at}.000Z` });
    await store.transaction(async (tx) => {
      await tx.agents.insert(agentRecord(`a${at}`, { id: `agt_${at}` }));
      tx.audit.append(entry);
    });
    agents.push(`agt_${at}`);
    store.audit.append({ ...entry, id: `aud_read_${at}` });
    await store.audit.flush();
    entries.push(entry.id, `aud_read_${at}`);
    if (at === 16) await copyOpen(open, earlier);
  }
  await until(async () => (await readdir(open)).filter((name) => /^journal|tmp$/.test(name)).length === 1);
  const marked = () => {
    const manifest = new Manifest(open, nodeFileSystem);
    manifest.read();
    return manifest.journal?.sequence === agents.length;
  };
  await until(marked);
  await copyOpen(open, folder);
  await store.close();
  return { folder, earlier, agents: agents.sort(), entries: entries.sort() };
}

function copyOpen(from: string, to: string): Promise<void> {
  return cp(from, to, { recursive: true, filter: (path) => !path.endsWith('lock.json') });
}

/** What a start finds. Undefined where it refuses; the message then says where and how to recover. */
async function startOn(folder: string): Promise<{ agents: string[]; entries: string[] } | undefined> {
  try {
    const store = await openIn(folder);
    const agents = (await store.agents.find(everything)).records.map(({ id }) => id).sort();
    const entries = (await store.audit.find(everything)).records.map(({ id }) => id).sort();
    await store.close();
    return { agents, entries };
  } catch (error) {
    assert.ok(error instanceof StoreDamaged, String(error));
    assert.match(error.message, /(ndjson|db\.json|manifest)(, (line|offset) \d+)*: .*npm run backup/);
    return undefined;
  }
}

async function refusal(folder: string): Promise<string> {
  return openIn(folder).then(
    () => assert.fail('it was opened'),
    (error: Error) => error.message,
  );
}

describe('a data folder of which a part is gone', () => {
  let root: string;
  let left: Left;
  let names: string[];

  before(async () => {
    root = await temporaryFolder();
    left = await leave(root);
    names = (await readdir(left.folder, { recursive: true })).filter((name) => /\./.test(name) || name === 'manifest');
    names.sort();
    return () => rm(root, { recursive: true });
  });

  async function copied(test: TestContext): Promise<string> {
    const folder = join(await testFolder(test), 'data');
    await cp(left.folder, folder, { recursive: true });
    return folder;
  }

  const holds = async (folder: string, what: string) => {
    const found = await startOn(folder);
    if (found) assert.deepEqual(found, { agents: left.agents, entries: left.entries }, what);
    return found !== undefined;
  };

  it('starts with everything where nothing is gone', async (test) => {
    assert.ok(await holds(await copied(test), 'the whole folder'));
    const plain = names.map((name) => name.replace(/\d{8}/, 'n')).filter((name) => !name.endsWith('.outline'));
    const segments = DAYS.map((day) => `audit/${day}.ndjson`);
    assert.deepEqual(plain, [...segments, 'db.json', 'journal-n.ndjson', 'manifest']);
  });

  it('starts with everything or refuses, wherever a file is cut', async (test) => {
    const place = fc.record({ name: fc.constantFrom(...names), part: fc.double({ min: 0, max: 1, noNaN: true }) });
    let refused = 0;
    const property = fc.asyncProperty(place, async ({ name, part }) => {
      const folder = await copied(test);
      const { size } = await stat(join(folder, name));
      const cut = Math.floor(part * size);
      await truncate(join(folder, name), cut);
      if (!(await holds(folder, `${name} cut at ${cut} of ${size}`))) refused += 1;
      await rm(folder, { recursive: true });
    });
    await fc.assert(property, { numRuns: rounds(60, 1000) });
    assert.ok(refused > 10);
  });

  it('starts with everything or refuses, whichever file is missing, older or that of another day', async (test) => {
    const outcomes: Record<string, string[]> = { missing: [], older: [], swapped: [] };
    const note = (how: string, name: string, isOpen: boolean) =>
      outcomes[how]?.push(`${name.replace(/\d{8}/, 'n')} ${isOpen ? 'starts' : 'refuses'}`);
    for (const name of names) {
      const folder = await copied(test);
      await rm(join(folder, name));
      note('missing', name, await holds(folder, `without ${name}`));
      const older = await readFile(join(left.earlier, name)).catch(() => undefined);
      if (!older) continue;
      const other = await copied(test);
      await cp(join(left.earlier, name), join(other, name));
      note('older', name, await holds(other, `an older ${name}`));
    }
    const swapped = await copied(test);
    await cp(join(left.folder, 'audit', `${DAYS[1]}.ndjson`), join(swapped, 'audit', `${DAYS[0]}.ndjson`));
    note('swapped', `audit/${DAYS[0]}.ndjson`, await holds(swapped, 'swapped'));
    const of = (how: string) => outcomes[how]?.filter((outcome) => !outcome.includes('outline'));
    assert.deepEqual(of('missing'), [
      `audit/${DAYS[0]}.ndjson refuses`,
      `audit/${DAYS[1]}.ndjson refuses`,
      'db.json refuses',
      'journal-n.ndjson refuses',
      'manifest starts',
    ]);
    assert.ok(of('older')?.includes(`audit/${DAYS[1]}.ndjson refuses`));
    assert.ok(of('older')?.includes('manifest starts'));
    assert.deepEqual(of('swapped'), [`audit/${DAYS[0]}.ndjson refuses`]);
  });
});

describe('the manifest', () => {
  async function written(test: TestContext): Promise<string> {
    const folder = await testFolder(test);
    const store = await openIn(folder);
    for (let at = 0; at < 5; at += 1) {
      await store.transaction(async (tx) => {
        await tx.agents.insert(agentRecord(`a${at}`));
        tx.audit.append(auditRecord({ at: `${DAYS[0]}T00:00:00.000Z` }));
      });
    }
    await store.close();
    return folder;
  }

  const journalIn = (folder: string) => join(folder, 'journal-00000001.ndjson');

  it('lets a start miss a cut at the end of a line, say what is gone, and go on once the loss is accepted', async (test) => {
    const folder = await written(test);
    const whole = await readFile(journalIn(folder));
    const lines = whole.toString().split('\n');
    const cut = Buffer.byteLength(lines.slice(0, 4).join('\n')) + 1;
    await truncate(journalIn(folder), cut);
    const message = await refusal(folder);
    assert.match(message, new RegExp(`journal-00000001\\.ndjson, offset ${cut}: transactions 4 to 5 are missing`));
    assert.match(message, new RegExp(`had ${whole.length} bytes`));
    assert.match(message, /npm run backup/);
    const [, path = ''] = /accept the loss and go on with what is there: `rm '([^']+)'`/.exec(message) ?? [];
    await rm(path);
    const store = await openIn(folder);
    assert.equal(await store.agents.count({}), 3);
    assert.equal(store.status().dropped, undefined);
    await store.close();
    await truncate(journalIn(folder), cut - 1);
    assert.match(await refusal(folder), /transaction 3 is missing/);
  });

  it('lets a start miss a cut audit file, at the end of a line too', async (test) => {
    const folder = await written(test);
    const path = join(folder, 'audit', `${DAYS[0]}.ndjson`);
    const lines = (await readFile(path, 'utf8')).split('\n');
    await truncate(path, Buffer.byteLength(lines.slice(0, 3).join('\n')) + 1);
    assert.match(await refusal(folder), /2026-03-01\.ndjson, offset \d+: audit entries are missing .* accept the loss/);
  });

  it('refuses the journal of a copy that went on by itself', async (test) => {
    const [folder, copy] = [await written(test), await testFolder(test)];
    await cp(folder, copy, { recursive: true });
    for (const [place, name] of Object.entries({ [folder]: 'own', [copy]: 'other' })) {
      const store = await openIn(place);
      await writing(store).agents.insert(agentRecord(name));
      await store.close();
    }
    await cp(journalIn(copy), journalIn(folder));
    assert.match(await refusal(folder), /line 7: the manifest knows another transaction 6, .* accept the loss/);
  });

  it('refuses where every file of records is gone', async (test) => {
    const folder = await written(test);
    await rm(join(folder, 'db.json'));
    await rm(journalIn(folder));
    assert.match(await refusal(folder), /offset 0: transactions 1 to 5 are missing/);
  });

  it('forgets pruned days before their files go, and uses their slots again', async (test) => {
    const folder = await written(test);
    const store = await openIn(folder);
    await store.audit.prune(`${DAYS[1]}T00:00:00.000Z`);
    store.audit.append(auditRecord({ at: `${DAYS[1]}T00:00:00.000Z` }));
    await store.close();
    assert.equal((await stat(join(folder, 'manifest'))).size, 256);
    const again = await openIn(folder, { compactBytes: 1 });
    assert.equal(await again.audit.count({}), 1);
  });

  it('is written for a folder that has none', async (test) => {
    const folder = await written(test);
    await withoutManifest(folder);
    await (await openIn(folder)).close();
    await truncate(journalIn(folder), 300);
    assert.match(await refusal(folder), /are missing/);
  });

  it('is written at its end, also what would be written a moment later', async (test) => {
    const folder = await testFolder(test);
    await mkdir(folder, { recursive: true });
    const [ending, next] = [new Manifest(folder, nodeFileSystem), new Manifest(folder, nodeFileSystem)];
    const mark = { generation: 1, sequence: 2, crc: 3, size: 4 };
    ending.markJournal(mark);
    await ending.close();
    next.read();
    assert.deepEqual(next.journal, mark);
  });

  it('holds up no write where the disk refuses it, which the status says', async (test) => {
    const folder = await testFolder(test);
    await mkdir(folder, { recursive: true });
    const files = new FailingFiles();
    const store = await openIn(folder, { files });
    Object.assign(files, { failure: 'write', path: /manifest$/ });
    await writing(store).agents.insert(agentRecord('a'));
    await until(() => /manifest could not be written: injected/.test(store.status().lastError ?? ''));
    assert.ok(store.status().writable);
    files.failure = undefined;
    await writing(store).agents.insert(agentRecord('b'));
    await until(() => store.status().lastError === undefined);
    await store.close();
    const again = await openIn(folder);
    assert.equal(await again.agents.count({}), 2);
  });

  it('is read up to a slot that was being added when the power failed', async (test) => {
    const folder = await written(test);
    const path = join(folder, 'manifest');
    const whole = await readFile(path);
    for (const rest of [Buffer.alloc(128), Buffer.alloc(127), Buffer.from('4'.repeat(128))]) {
      await writeFile(path, Buffer.concat([whole, rest]));
      const manifest = new Manifest(folder, nodeFileSystem);
      manifest.read();
      assert.deepEqual([manifest.journal?.sequence, manifest.segments.size], [5, 1]);
    }
    await writeFile(path, Buffer.concat([whole, Buffer.alloc(256)]));
    assert.throws(() => new Manifest(folder, nodeFileSystem).read(), /offset 256: the checksum does not fit/);
    await writeFile(path, Buffer.concat([whole, Buffer.alloc(128)]));
    const store = await openIn(folder);
    store.audit.append(auditRecord({ at: `${DAYS[1]}T00:00:00.000Z` }));
    await store.close();
    assert.equal((await stat(path)).size, 384, 'the slot is written again');
    const again = new Manifest(folder, nodeFileSystem);
    again.read();
    assert.deepEqual([...again.segments.keys()], DAYS);
  });

  it('gives the slot of a day that is gone to another, wherever it lies, and never that of the journal', async (test) => {
    const folder = await testFolder(test);
    await mkdir(folder, { recursive: true });
    const manifest = new Manifest(folder, nodeFileSystem);
    await manifest.markSegment('2026-03-01', { size: 1, entry: 1 });
    await manifest.markSegment('2026-03-02', { size: 2, entry: 2 });
    await manifest.forgetSegments(['2026-02-28', '2026-03-01']);
    manifest.markJournal({ generation: 1, sequence: 2, crc: 3, size: 4 });
    await manifest.close();
    const path = join(folder, 'manifest');
    assert.equal((await stat(path)).size, 256);
    const next = new Manifest(folder, nodeFileSystem);
    next.read();
    await next.markSegment('2026-03-03', { size: 3, entry: 3 });
    await next.markSegment('2026-03-02', { size: 20, entry: 20 });
    await next.forgetSegments(['2026-03-02']);
    await next.markSegment('2026-03-04', { size: 4, entry: 4 });
    await next.close();
    assert.equal((await stat(path)).size, 384);
    const last = new Manifest(folder, nodeFileSystem);
    last.read();
    assert.equal(last.journal?.sequence, 2);
    assert.deepEqual(Object.fromEntries(last.segments), {
      '2026-03-03': { size: 3, entry: 3 },
      '2026-03-04': { size: 4, entry: 4 },
    });
  });

  it('can be closed where nothing was written, and where the disk never let it be opened', async (test) => {
    const folder = await testFolder(test);
    await mkdir(folder, { recursive: true });
    await new Manifest(folder, nodeFileSystem).close();
    assert.deepEqual(await readdir(folder), []);
    await mkdir(join(folder, 'manifest'));
    const manifest = new Manifest(folder, nodeFileSystem);
    await manifest.markSegment('2026-03-01', { size: 1, entry: 1 });
    assert.match(manifest.error?.message ?? '', /manifest could not be written: EISDIR/);
    await rm(join(folder, 'manifest'), { recursive: true });
    await manifest.markSegment('2026-03-01', { size: 1, entry: 1 });
    assert.equal(manifest.error, undefined);
    await manifest.close();
    await manifest.close();
    await rm(join(folder, 'manifest'));
    await mkdir(join(folder, 'manifest'));
    const never = new Manifest(folder, nodeFileSystem);
    await assert.rejects(
      never.markSegment('2026-03-01', { size: 1, entry: 1 }).then(() => never.forgetSegments(['2026-03-01'])),
      /EISDIR/,
    );
    await never.close();
  });

  it('is refused where one of its slots was changed, and names it', async (test) => {
    const folder = await written(test);
    const path = join(folder, 'manifest');
    const bytes = await readFile(path);
    bytes[20] = 0x21;
    await rm(path);
    await writeFile(path, bytes);
    assert.match(await refusal(folder), /manifest, offset 0: the checksum does not fit/);
  });

  it('is refused where a slot holds something else, and names it', async (test) => {
    const folder = await written(test);
    const path = join(folder, 'manifest');
    const bytes = await readFile(path);
    for (const json of ['{"size":1}', 'x {"size":1,"entry":1}']) {
      const { text } = sealLine('2026-01-01', json.padEnd(128 - 21), 0);
      await writeFile(path, Buffer.concat([bytes.subarray(0, 128), Buffer.from(text), bytes.subarray(128)]));
      assert.match(await refusal(folder), /manifest, offset 128: the slot holds no mark.*accept the loss/);
    }
  });
});
