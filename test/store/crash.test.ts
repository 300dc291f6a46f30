import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { killedAtEnd } from '../support/at-end.ts';
import { rounds } from '../support/full.ts';
import { nodeArgs } from '../support/node-args.ts';
import { testFolder } from './folders.ts';

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

  it('loses no acknowledged row, and brings none back that was dropped', async (test) => {
    const random = randomFrom(SEED);
    const folder = await testFolder(test);
    const seen = { row: new Set<string>(), gone: new Set<string>() };
    const rounds = Math.max(2, Math.ceil(ROUNDS / 4));
    for (let round = 0; round < rounds; round += 1) {
      const start = round % 2 === 0 ? 'gone' : 'row';
      await killedWriter([folder, String(round), 'rows'], start, random() * 100, (line) => {
        const [, kind, id] = /^(row|gone) (row_\d+_\d+)$/.exec(line) ?? [];
        if (id) seen[kind === 'row' ? 'row' : 'gone'].add(id);
      });
      await checkRows(folder, seen.row, seen.gone);
    }
    test.diagnostic(`seed ${SEED}, ${rounds} rounds, ${seen.row.size} rows, ${seen.gone.size} of them dropped`);
    assert.ok(seen.gone.size >= rounds / 2);
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
  const store = await openLowdbStore({ folder });
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
  const store = await openLowdbStore({ folder });
  const rows = await store.rows.read(0, 10_000_000);
  const found = new Set(rows.map(({ row }) => String(row.id)));
  assert.equal(found.size, rows.length, 'a row is there twice');
  for (const id of added) assert.ok(found.has(id) || /[0369]$/.test(id), `${id} is missing`);
  for (const id of gone) assert.ok(!found.has(id), `${id} was dropped`);
  assert.deepEqual(await store.rows.get(rows.map(({ position }) => position)), rows);
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

/** Mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
