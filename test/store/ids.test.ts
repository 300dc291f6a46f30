import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newId } from '../../store/ids.ts';

describe('newId', () => {
  it('gives ids that never repeat and sort in the order they were made, also within a millisecond', () => {
    const ids = Array.from({ length: 100_000 }, () => newId('agt'));
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.every((id, index) => index === 0 || (ids[index - 1] ?? '') < id));
    assert.ok(ids.every((id) => /^agt_[0-9a-hjkmnp-tv-z]{26}$/.test(id)));
  });

  it('goes on when the clock goes back', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 3_600_000 });
    const before = newId('agt');
    t.mock.timers.setTime(Date.now() - 1000);
    assert.ok(newId('agt') > before);
  });
});
