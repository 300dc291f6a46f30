import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { appendFile, cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { AuditSegment } from '../../store/lowdb/audit/segment.ts';
import { nodeFileSystem } from '../../store/lowdb/files/file-system.ts';
import { sealLine } from '../../store/lowdb/journal/line.ts';
import type { Store } from '../../store/port.ts';
import { rounds } from '../support/full.ts';
import { FailingFiles } from './failing-files.ts';
import { openIn, testFolder, withoutManifest } from './folders.ts';
import { auditRecord } from './records.ts';

const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03'];
const LAST = '2026-03-03';
const file = (folder: string, day: string, kind: 'ndjson' | 'outline') => join(folder, 'audit', `${day}.${kind}`);

let made = 0;
/** An entry of the day, later than those before or, every seventh, earlier. */
function entryOf(day: string, over: object = {}) {
  made += 1;
  const second = made % 7 === 0 ? made - 5 : made;
  return auditRecord({
    id: `aud_${String(made).padStart(6, '0')}`,
    at: new Date(Date.parse(day) + second * 1000).toISOString(),
    tool: `tool_${made % 5}`,
    principal: { type: 'api-key', id: `key_${made % 3}`, name: 'ä key' },
    outcome: made % 4 === 0 ? 'failed' : 'ok',
    door: made % 2 === 0 ? 'mcp' : 'rest',
    ...over,
  });
}

async function add(store: Store, entry = entryOf(LAST)): Promise<void> {
  if (made % 3 === 0) await store.transaction(async (tx) => tx.audit.append(entry));
  else store.audit.append(entry);
}

/** A closed store with entries of three days, a third of them carried by transactions that the journal still holds. */
async function written(folder: string, each = 40): Promise<void> {
  for (const day of DAYS) {
    const store = await openIn(folder);
    for (let count = 0; count < each; count += 1) await add(store, entryOf(day));
    await store.close();
  }
}

async function answers(folder: string): Promise<string[][]> {
  const store = await openIn(folder);
  const questions = [
    {},
    { tool: 'tool_1' },
    { principal: 'key_2' },
    { outcome: 'failed' },
    { door: 'mcp' },
    { tool: 'x' },
  ];
  const found: string[][] = [];
  for (const question of questions) {
    // The last of the types that the literals above widen to.
    const { records } = await store.audit.find({ ...(question as object), from: DAYS[0], limit: 10_000 });
    found.push(records.map(({ id, at }) => `${at} ${id}`));
  }
  await store.close();
  return found;
}

async function withoutOutlines(folder: string): Promise<void> {
  for (const day of DAYS) await rm(file(folder, day, 'outline'), { force: true });
}

/** How many entries a start takes from outlines, and how many from the segments. */
function taken(folder: string, days = DAYS): { outlined: number; read: number } {
  const counts = { outlined: 0, read: 0 };
  for (const day of days) {
    const segment = new AuditSegment(join(folder, 'audit'), day, nodeFileSystem);
    segment.load({
      mark: undefined,
      firstSequence: 1,
      onStretch: ({ lengths }) => {
        counts.outlined += lengths.length;
      },
      onEntry: () => {
        counts.read += 1;
      },
      onJournaled: () => {},
    });
  }
  return counts;
}

describe('the outline of an audit segment', () => {
  it('gives the answers that the segment gives, and is made again where it is gone', async (test) => {
    const folder = await testFolder(test);
    await written(folder);
    const expected = await answers(folder);
    assert.equal(expected[0]?.length, 120);
    assert.deepEqual(taken(folder), { outlined: 120, read: 0 });
    await withoutOutlines(folder);
    assert.deepEqual(taken(folder), { outlined: 0, read: 120 });
    for (let start = 0; start < 2; start += 1) assert.deepEqual(await answers(folder), expected);
    assert.deepEqual(taken(folder), { outlined: 120, read: 0 });
  });

  it('covers a day as it grows, and what it lacks is read after a crash', async (test) => {
    const [folder, copy] = [await testFolder(test), await testFolder(test)];
    const store = await openIn(folder);
    const large = { text: 'x'.repeat(4000) };
    for (let count = 0; count < 2500; count += 1) {
      await add(store, entryOf(LAST, { arguments: large }));
      if (count % 500 === 0) await store.audit.flush();
    }
    await store.audit.flush();
    await cp(join(folder, 'audit'), join(copy, 'audit'), { recursive: true });
    await add(store, entryOf('2026-03-04'));
    await store.audit.flush();
    assert.ok(existsSync(file(folder, LAST, 'outline')));
    const lines = (await readFile(file(folder, LAST, 'outline'), 'utf8')).trimEnd().split('\n');
    assert.equal(lines.length, 3, 'two full ones, and one that the next day ended');
    await store.close();
    const { outlined, read } = taken(copy, [LAST]);
    assert.ok(outlined > 1500 && read > 100 && outlined + read === 2500, `${outlined} and ${read}`);
    const [all] = await answers(folder);
    assert.equal(all?.length, 2501);
  });

  it('is not believed where a byte of it was changed or cut off, and is made again', async (test) => {
    const folder = await testFolder(test);
    await written(folder, 12);
    const expected = await answers(folder);
    const outline = file(folder, LAST, 'outline');
    const good = await readFile(outline);
    for (let at = 0; at < good.length; at += rounds(53, 13)) {
      const bytes = Buffer.from(good);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await writeFile(outline, bytes);
      assert.deepEqual(await answers(folder), expected, `changed at ${at}`);
      assert.deepEqual(await readFile(outline), good);
      await truncate(outline, at);
      assert.deepEqual(await answers(folder), expected, `cut at ${at}`);
      assert.deepEqual(await readFile(outline), good);
    }
    await writeFile(outline, sealLine(`0-${Number.MAX_SAFE_INTEGER}-00000000`, '{}', 0).text);
    assert.deepEqual(await answers(folder), expected);
    await appendFile(outline, 'x'.repeat(9000));
    assert.deepEqual(await answers(folder), expected);
    const store = await openIn(folder);
    store.audit.append(entryOf(LAST));
    await store.close();
    assert.ok((await readFile(outline)).length < 5000);
  });

  it('does not hide that a line was changed, taken out or cut off', async (test) => {
    const [folder, copy] = [await testFolder(test), await testFolder(test)];
    await written(folder);
    const [segment, outline] = [file(folder, LAST, 'ndjson'), file(folder, LAST, 'outline')];
    const [text, good] = [await readFile(segment, 'utf8'), await readFile(outline)];
    const lines = text.trimEnd().split('\n');
    const changed = lines.with(31, `${lines[31]}`.replace('"tool":"tool_', '"tool":"tool-'));
    await writeFile(segment, `${changed.join('\n')}\n`);
    await assert.rejects(answers(folder), /2026-03-03\.ndjson, line 32: the checksum .*sed -i 32d/);
    const others = [lines.toSpliced(1, 1), lines.slice(2), lines.slice(0, 30), [lines[3], ...lines.slice(1)]];
    for (const other of [...others.map((rest) => `${rest.join('\n')}\n`), text.slice(0, 5000)]) {
      await writeFile(segment, other);
      await writeFile(outline, good);
      await withoutManifest(folder);
      await cp(folder, copy, { recursive: true });
      await withoutManifest(copy);
      await withoutOutlines(copy);
      assert.deepEqual(await answers(folder), await answers(copy));
      assert.deepEqual(await readFile(outline), await readFile(file(copy, LAST, 'outline')));
    }
  });

  it('fits after records were erased, from full stretches and from the one being filled', async (test) => {
    const folder = await testFolder(test);
    const files = new FailingFiles();
    const store = await openIn(folder, { files });
    const about = (day: string, id: string) => entryOf(day, { arguments: { text: 'x'.repeat(4000) }, recordIds: [id] });
    for (const day of DAYS) {
      for (let count = 0; count < 1200; count += 1)
        store.audit.append(about(day, count % 600 === 7 ? 'skl_gone' : 'skl_x'));
      await store.audit.flush();
    }
    await store.transaction(async (tx) => {
      await tx.skills.insert({ name: 'x' });
      tx.erase(['skl_gone']);
    });
    await store.close();
    assert.deepEqual(taken(folder), { outlined: 3600, read: 0 });
    const again = await openIn(folder);
    const { records } = await again.audit.find({ limit: 10_000 });
    assert.equal(records.filter(({ arguments: args }) => Object.keys(args).length === 0).length, 6);
    await again.close();
    const expected = await answers(folder);
    await withoutOutlines(folder);
    assert.deepEqual(await answers(folder), expected);
  });

  it('goes with the day, and is no failure where the disk does not take it', async (test) => {
    const folder = await testFolder(test);
    await written(folder);
    const store = await openIn(folder);
    await store.audit.prune(LAST);
    await store.close();
    assert.deepEqual(await readdir(join(folder, 'audit')), [`${LAST}.ndjson`, `${LAST}.outline`]);
    await rm(file(folder, LAST, 'ndjson'));
    await withoutManifest(folder);
    const files = Object.assign(new FailingFiles(), { failure: 'write', path: /outline$/ });
    const again = await openIn(folder, { files });
    assert.deepEqual(await readdir(join(folder, 'audit')), [`${LAST}.ndjson`]);
    await add(again);
    await again.audit.flush();
    assert.equal(again.status().lastError, undefined);
    await again.close();
    const [all] = await answers(folder);
    // Those that transactions carried came back from the journal, without the pruned ones.
    assert.ok(all && all.length > 10 && all.every((key) => key.startsWith(LAST)));
  });
});
