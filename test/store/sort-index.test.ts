import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { collections } from '../../store/collections.ts';
import { Collection } from '../../store/lowdb/records/collection.ts';
import { find, inOrder } from '../../store/lowdb/records/find.ts';
import type { Row } from '../../store/row.ts';
import { pluck } from '../support/pluck.ts';
import { countTurns, slowClock } from '../support/turns.ts';

const SIZE = 2000;

function projects() {
  const kept = new Collection('projects', collections.projects);
  const put = (at: number, name: string) => {
    const row: Row = { id: `prj_${at}`, createdAt: '2026-01-01T00:00:00.000Z', name };
    kept.set(row.id, row);
  };
  for (let at = 0; at < SIZE; at += 1) put(at, `é ${(at * 7919) % SIZE}`);
  return { kept, put };
}

const BY_NAME = { sort: { by: 'name', isDescending: false }, limit: 2 * SIZE } as const;
const names = (kept: Collection) => pluck(find(kept, BY_NAME).records, 'name');

describe('the order of a collection', () => {
  it('is made bit by bit, while others are answered and records change', async (test) => {
    const { kept, put } = projects();
    slowClock(test);
    const turns = countTurns(test);
    let isMade = false;
    const asked = [inOrder(kept, { ...BY_NAME, limit: 1 }), inOrder(kept, { ...BY_NAME, limit: 1 })];
    const made = Promise.all(asked).then(() => (isMade = true));
    for (let at = 0; !isMade; at += 1) {
      put(at, `changed ${at}`);
      kept.set(`prj_${SIZE - 1 - at}`, undefined);
      put(SIZE + at, `new ${at}`);
      put(SIZE + at, `newer ${at}`);
      await setImmediate();
    }
    await made;
    assert.ok(turns() > SIZE / 20, `${turns()} turns`);
    const anew = new Collection('projects', collections.projects);
    for (const row of kept.rows()) anew.set(row.id, row);
    assert.equal(names(kept).length, kept.rows().length);
    assert.deepEqual(names(kept), names(anew));
  });

  it('is whole for who cannot wait, and its making ends with the collection', async (test) => {
    const { kept } = projects();
    slowClock(test);
    const made = inOrder(kept, { ...BY_NAME, limit: 1 });
    assert.deepEqual(names(kept), names(projects().kept));
    await made;
    const other = projects().kept;
    const turns = countTurns(test);
    const ended = inOrder(other, { ...BY_NAME, limit: 1 });
    other.close();
    await ended;
    assert.ok(turns() < SIZE / 20, `${turns()} turns`);
  });
});
