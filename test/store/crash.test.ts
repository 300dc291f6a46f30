import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import type { openLowdbStore } from '../../store/lowdb/open.ts';
import { killedAtEnd } from '../support/at-end.ts';
import { rounds } from '../support/full.ts';
import { nodeArgs } from '../support/node-args.ts';
import { randomFrom } from '../support/random.ts';
import { openIn, testFolder } from './folders.ts';

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? rounds(4, 50));
const SEED = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000);

describe('kill -9', () => {
  it('loses no acknowledged write and no audit entry of one, and doubles none', async (test) => {
    const random = randomFrom(SEED);
    const folder = await testFolder(test);
    const revisions = new Map<string, number>();
    const audits = new Set<string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const start = round % 2 === 0 ? 'agt' : 'open';
      await killedWriter([folder, String(round)], start, 5 + random() * 60, (line) => {
        const [, id, revision, audit] = /^(agt_\S+) (\d+) (aud_\d+_\d+_\d+)$/.exec(line) ?? [];
        if (!id || !revision || !audit) return;
        revisions.set(id, Math.max(Number(revision), revisions.get(id) ?? 0));
        audits.add(audit);
      });
      if (round % 10 === 9 || round === ROUNDS - 1) await check(folder, revisions, audits);
    }
    test.diagnostic(`seed ${SEED}, ${ROUNDS} rounds, ${audits.size} acknowledged writes`);
    assert.ok(audits.size >= ROUNDS / 2);
  });

  it('loses no acknowledged row and no audit entry of one, brings none back that was removed, and keeps what follows from them right', async (test) => {
    const random = randomFrom(SEED);
    const folder = await testFolder(test);
    const seen = { row: new Set<string>(), gone: new Set<string>() };
    const kills = Math.max(3, ROUNDS);
    for (let round = 0; round < kills; round += 1) {
      const start = round % 2 === 0 ? 'row' : 'open';
      await killedWriter([folder, String(round), 'rows'], start, random() * 1500, (line) => {
        const [, kind, id] = /^(row|gone) (row_\d+_\d+)$/.exec(line) ?? [];
        if (id) seen[kind === 'row' ? 'row' : 'gone'].add(id);
      });
      await checkRows(folder, seen.row, seen.gone);
    }
    test.diagnostic(`seed ${SEED}, ${kills} rounds, ${seen.row.size} imports, ${seen.gone.size} of them removed`);
    assert.ok(seen.row.size >= kills / 2);
  });
});

/** Kills the writer this long after its first line that begins so: on a busy machine it would else not have written yet. */
async function killedWriter(
  args: readonly string[],
  start: string,
  afterMs: number,
  acknowledged: (line: string) => void,
): Promise<void> {
  const script = join(import.meta.dirname, 'crash-writer.ts');
  const child = killedAtEnd(
    spawn(process.execPath, [...nodeArgs(script), ...args], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  let isDying = false;
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    if (!isDying && line.startsWith(start)) {
      isDying = true;
      setTimeout(() => child.kill('SIGKILL'), afterMs);
    }
    acknowledged(line);
  }
  assert.deepEqual((await exited).at(1), 'SIGKILL');
}

async function check(
  folder: string,
  revisions: ReadonlyMap<string, number>,
  audits: ReadonlySet<string>,
): Promise<void> {
  const store = await openIn(folder);
  for (const [id, revision] of revisions) {
    const kept = await store.agents.get(id);
    assert.ok(kept && kept.revision >= revision, `${id} should have revision ${revision}, has ${kept?.revision}`);
  }
  const { records } = await store.audit.find({ tool: 'crash', limit: 10_000_000 });
  const found = new Set(records.map((entry) => entry.id));
  assert.equal(found.size, records.length, 'an audit entry is there twice');
  for (const audit of audits) assert.ok(found.has(audit), `${audit} is missing`);
  await assertWhole(store, found);
  await store.close();
}

async function checkRows(folder: string, added: ReadonlySet<string>, gone: ReadonlySet<string>): Promise<void> {
  const store = await openIn(folder);
  const found = await store.rows.query<{ id: string; uid: string }>({ name: 'all', sql: 'select id, uid from visits' });
  assert.equal(new Set(found.map(({ id }) => id)).size, found.length, 'a row is there twice');
  const users = new Set(found.map(({ uid }) => uid));
  for (const uid of users) assert.equal(found.filter((row) => row.uid === uid).length, 3, `${uid} is there in part`);
  for (const uid of added) assert.ok(users.has(uid) || /[258]$/.test(uid), `${uid} is missing`);
  for (const uid of gone) assert.ok(!users.has(uid), `${uid} was removed`);
  const { records } = await store.audit.find({ tool: 'crash', limit: 10_000_000 });
  const audited = new Set(records.map((entry) => entry.id));
  assert.equal(audited.size, records.length, 'an audit entry is there twice');
  for (const uid of users) assert.ok(audited.has(`aud_${uid}`), `the audit entry of ${uid} is missing`);
  for (const { table, equal } of await store.rows.rebuild()) assert.ok(equal, `${table} is not as a rebuild makes it`);
  await store.close();
}

/** Every record's revision has its audit entries and no more: a transaction is there whole or not at all. */
async function assertWhole(
  store: Awaited<ReturnType<typeof openLowdbStore>>,
  audits: ReadonlySet<string>,
): Promise<void> {
  const { records } = await store.agents.find({ limit: 10_000_000 });
  const revisions = records.reduce((sum, { revision }) => sum + revision, 0);
  assert.equal(revisions, audits.size);
}
