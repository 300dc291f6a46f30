import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { testFolder } from './folders.ts';

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 50);

describe('kill -9', () => {
  it('loses no acknowledged write and no audit entry of one, and doubles none', async (test) => {
    const seed = Number(process.env.CRASH_SEED ?? Date.now() % 1_000_000);
    const random = randomFrom(seed);
    const folder = await testFolder(test);
    const revisions = new Map<string, number>();
    const audits = new Set<string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      await killedWriter(folder, round, 5 + random() * 60, (id, revision, audit) => {
        revisions.set(id, Math.max(revision, revisions.get(id) ?? 0));
        audits.add(audit);
      });
      if (round % 10 === 9 || round === ROUNDS - 1) await check(folder, revisions, audits);
    }
    test.diagnostic(`seed ${seed}, ${ROUNDS} rounds, ${audits.size} acknowledged writes`);
    assert.ok(audits.size > ROUNDS);
  });
});

async function killedWriter(
  folder: string,
  round: number,
  afterMs: number,
  acknowledged: (id: string, revision: number, audit: string) => void,
): Promise<void> {
  const script = join(import.meta.dirname, 'crash-writer.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script, folder, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  // On a busy machine the time is over before the first write, so that every other round begins to count with that.
  let waiting: string | undefined = round % 2 === 0 ? 'open' : 'agt_';
  for await (const line of createInterface({ input: child.stdout })) {
    if (waiting !== undefined && line.startsWith(waiting)) {
      setTimeout(() => child.kill('SIGKILL'), afterMs);
      waiting = undefined;
    }
    const [, id, revision, audit] = /^(agt_\S+) (\d+) (aud_\d+_\d+_\d+)$/.exec(line) ?? [];
    if (id && revision && audit) acknowledged(id, Number(revision), audit);
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
