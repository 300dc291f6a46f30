import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { compareStore, tableOf } from '../../facade/store-copy/compare.ts';
import { contentsOf } from '../../facade/store-copy/contents.ts';
import { nameOf } from '../../facade/store-copy/digests.ts';
import { exportStore } from '../../facade/store-copy/export-store.ts';
import { checkFile } from '../../facade/store-copy/format.ts';
import { importAll } from '../../facade/store-copy/import-store.ts';
import { MOVE_ID, refuseUnfinishedMove } from '../../facade/store-copy/move.ts';
import { collections } from '../../store/collections.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { secretsKeyIds } from '../../tools/core/sealing/secrets.ts';
import { visits } from '../bench/analytics-rows.ts';
import { fillRecords, fillRows, SEALING_KEY } from '../store/every-kind.ts';
import { auditRecord } from '../store/records.ts';
import { killedAtEnd } from '../support/at-end.ts';
import { runFile } from '../support/child.ts';
import { FULL, rounds } from '../support/full.ts';
import { programArgs } from '../support/node-args.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

const DOCUMENTS = rounds(300, 1500);
/** For each of them the journal of the whole import is longer by as much, with what belongs to it. */
const LEAST_BYTES = 3000;

const keys = { secretsKeys: secretsKeyIds([SEALING_KEY], ''), withoutKeys: false };
/** The files of all tests: a data folder with everything in it, and its export. */
let folder = '';
let file = '';
const source = () => join(folder, 'source');

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-admin-'));
  file = join(folder, 'all.ndjson');
  const store = await openLowdbStore({ folder: source() });
  await fillRecords(store, { documents: DOCUMENTS, entries: rounds(1200, 5000) });
  await fillRows(store, rounds(1500, 60_000));
  await store.close();
});
after(() => rm(folder, { recursive: true, force: true }));

async function withStore<Result>(name: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openLowdbStore({ folder: join(folder, name) });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const isEqual = (compared: Awaited<ReturnType<typeof importAll>>) =>
  assert.ok(
    compared.every(({ equal }) => equal),
    tableOf(compared),
  );

it('the contents of a store come whole and in order, however few are read at a time, also many entries of one millisecond', async () => {
  const opened = await openLowdbStore({ folder: join(folder, 'few') });
  const at = (second: number) => new Date(Date.UTC(2026, 2, 1, 0, 0, second)).toISOString();
  const seconds = [1, 2, 3, ...Array.from({ length: 12 }, () => 4), 5, 900, 901];
  const entries = seconds.map((second) => auditRecord({ at: at(second) }));
  for (const entry of entries) opened.audit.append(entry);
  await opened.transaction(async (tx) => {
    for (let n = 0; n < 12; n += 1) await tx.documents.insert({ title: `Document ${n}`, content: '', tags: [] });
  });
  await fillRows(opened, 40);
  const collected = async (most?: Parameters<typeof contentsOf>[1]) => {
    const found: Record<string, unknown[]> = {};
    for await (const part of contentsOf(opened, most)) {
      const name = 'audit' in part ? 'audit' : nameOf(part);
      const of = 'audit' in part ? part.audit : 'file' in part ? [part] : part.of;
      found[name] = [...(found[name] ?? []), ...of];
    }
    return found;
  };
  const few = await collected({ records: 5, entries: 5, rows: 7 });
  const oldestFirst = [...entries].sort((one, other) => (one.at + one.id < other.at + other.id ? -1 : 1));
  assert.deepEqual(few.audit, oldestFirst);
  assert.equal(few.documents?.length, 12);
  assert.deepEqual(few, await collected());
  await opened.close();
});

describe('a workspace that is moved over', () => {
  it('is exported by the command while another process has the folder, and is private', async () => {
    await withStore('source', async () => {
      const { code, stdout, stderr } = await runFile('facade/commands/export.ts', {
        args: [file],
        env: { DATA_DIR: source() },
      });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^documents +\d+1$/m);
      assert.match(stdout, /sealed with the key [0-9a-f]{8} \(SECRETS_KEY\)/);
    });
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    await assert.rejects(stat(`${file}.copy`), /ENOENT/);
    const again = await runFile('facade/commands/export.ts', { args: [file], env: { DATA_DIR: source() } });
    assert.deepEqual([again.code, /is there already/.test(again.stderr)], [1, true]);
  });

  it('is the same in the other store: every kind of record, the audit log, rows, metrics', async () => {
    await withStore('target', async (store) => {
      const compared = await importAll(store, file, keys);
      isEqual(compared);
      const what = new Set(compared.map(({ what }) => what));
      for (const name of Object.keys(collections)) assert.ok(what.has(name) || name === 'moves', name);
      assert.ok(compared.filter(({ what }) => what.startsWith('get_')).length === 15);
      const [first] = (await store.documents.find({ limit: 1, order: 'oldest' })).records;
      assert.deepEqual(first, await withStore('source', (from) => from.documents.get(first?.id ?? '')));
      await refuseUnfinishedMove(store);
      await assert.rejects(importAll(store, file, keys), /not empty: it has agents/);
    });
  });

  it('goes back and forth, and the second file holds the same as the first', async () => {
    const second = join(folder, 'second.ndjson');
    const now = new Date((await checkFile(file)).head.at);
    await withStore('target', (store) => exportStore(store, second, { version: '0', now, isShared: false }));
    const lines = async (path: string) =>
      (await readFile(path, 'utf8'))
        .split('\n')
        .slice(1)
        .map((line) => line.slice(17))
        .filter((line) => !line.startsWith('{"heads"')); // each log has a proof of its own
    assert.deepEqual(await lines(second), await lines(file));
  });

  it('goes to PostgreSQL and back, and is the same in both', { skip: withoutPostgres }, async () => {
    const { url, drop } = await testDatabase();
    const store = await openPostgresStore({ url });
    isEqual(await importAll(store, file, keys));
    const third = join(folder, 'third.ndjson');
    const now = new Date((await checkFile(file)).head.at);
    const { counts } = await exportStore(store, third, { version: '0', now, isShared: true });
    assert.deepEqual(counts, (await checkFile(file)).end.counts);
    await withStore('returned', async (returned) => isEqual(await importAll(returned, third, keys)));
    await assert.rejects(
      exportStore(changedMeanwhile(store), join(folder, 'fourth.ndjson'), { version: '0', now, isShared: true }),
      /changed while it was exported \(audit log\)/,
    );
    await store.close();
    await drop();
  });

  it('is compared as it is: what differs shows', async () => {
    await withStore('target', async (store) => {
      const at = new Date((await checkFile(file)).head.at);
      const [document] = (await store.documents.find({ limit: 1 })).records;
      await writing(store).documents.touch(document?.id ?? '', { title: 'Another' });
      store.audit.append({ ...auditRecord(), id: 'aud_more' });
      const staged = await store.rows.stage({ type: 'visits', rows: [...visits(1, 1, 23)], at: at.toISOString() });
      await store.transaction(async (tx) => tx.rows.commit(staged));
      const different = (await compareStore(store, file, at)).filter(({ equal }) => !equal).map(({ what }) => what);
      assert.deepEqual(different.slice(0, 3), ['documents', 'audit log', 'rows of visits']);
      assert.ok(different.includes('get_traffic_visitors'));
    });
  });
});

describe('an import of a whole workspace', () => {
  it('goes on after kill -9, to the same result; until then no server starts on the store', async () => {
    for (let round = 0; round < rounds(1, 15); round += 1) {
      const target = `killed-${round}`;
      await killedAfter(target, ((round + 1) / (rounds(1, 15) + 1)) * DOCUMENTS * LEAST_BYTES);
      const { stderr, code } = await runFile('facade/main.ts', { env: { DATA_DIR: join(folder, target), PORT: '0' } });
      assert.deepEqual([code, /was begun and is not finished/.test(stderr)], [1, true], stderr);
      await withStore(target, async (store) => {
        const move = await store.moves.get(MOVE_ID);
        assert.ok(move && move.line > 0, 'it was killed in the middle');
        isEqual(await importAll(store, file, keys));
        assert.equal(await store.moves.get(MOVE_ID), undefined);
      });
      await rm(join(folder, target), { recursive: true });
    }
  });

  it('refuses a file that was changed or cut, with the line, before it writes anything', async () => {
    const whole = await readFile(file);
    const bad = join(folder, 'bad.ndjson');
    for (let round = 0; round < rounds(6, 60); round += 1) {
      const at = Math.floor(((round + 0.5) / rounds(6, 60)) * whole.length);
      const line = whole.subarray(0, at).toString('latin1').split('\n').length;
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      await writeFile(bad, flipped);
      await assert.rejects(checkFile(bad), new RegExp(`line ${line} is not as it was written`));
      await truncate(bad, at);
      await assert.rejects(checkFile(bad), /line \d+ is not as it was written/);
    }
    const lines = whole.toString('utf8').split('\n');
    await writeFile(bad, [...lines.slice(0, 5), ...lines.slice(6)].join('\n'));
    await assert.rejects(checkFile(bad), /line 6 is not/);
    await writeFile(bad, lines.slice(0, -2).join('\n').concat('\n'));
    await withStore('untouched', async (store) => {
      await assert.rejects(importAll(store, bad, keys), new RegExp(`line ${lines.length - 1} is not`));
      assert.equal(await store.moves.count({}), 0);
    });
    await writeFile(bad, 'id,name\n');
    await assert.rejects(checkFile(bad), /line 1 is not/);
  });

  it('wants the key of the secrets, unless they are to be given anew, and the file that was begun', async () => {
    const env = { DATA_DIR: join(folder, 'keyless') };
    const refused = await runFile('facade/commands/import-all.ts', { args: [file], env });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /sealed with the key [0-9a-f]{8}, and this server has none\. Set SECRETS_KEY/);
    await withStore('keyless', async (store) => {
      await writing(store).moves.insert({ id: MOVE_ID, exportId: 'exp_other', line: 3 });
      await assert.rejects(importAll(store, file, keys), /another file \(exp_other\)/);
      await writing(store).moves.delete(MOVE_ID);
      if (FULL) isEqual(await importAll(store, file, { secretsKeys: [], withoutKeys: true }));
    });
  });
});

/** The store, to which somebody writes while it is read. */
function changedMeanwhile(store: Store): Store {
  const flush = async () => {
    await store.audit.flush();
    store.audit.append({ ...auditRecord(), id: `aud_${performance.now()}` });
  };
  const audit = new Proxy(store.audit, { get: (of, name) => (name === 'flush' ? flush : bound(of, name)) });
  return new Proxy(store, { get: (of, name) => (name === 'audit' ? audit : bound(of, name)) });
}

function bound(of: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(of, name, of);
  return typeof member === 'function' ? member.bind(of) : member;
}

/** Begins an import in a process of its own, which is killed when so many bytes were written. */
async function killedAfter(target: string, bytes: number): Promise<void> {
  const env = { ...process.env, DATA_DIR: join(folder, target), SECRETS_KEY: SEALING_KEY };
  const child: ChildProcess = killedAtEnd(
    spawn(process.execPath, [...programArgs('commands/import-all'), file], { env, stdio: 'ignore' }),
  );
  const ended = once(child, 'exit');
  const journal = join(folder, target, 'journal-00000001.ndjson');
  await until(async () => ((await stat(journal).catch(() => undefined))?.size ?? 0) > bytes);
  child.kill('SIGKILL');
  await ended;
}
