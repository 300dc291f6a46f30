import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exceededLimit, INPUT_LIMITS, JsonLimitCounter } from '../../tools/core/registry/json-limits.ts';
import { fc } from '../support/property.ts';

describe('json gauge', () => {
  it('finds what is more than the bounds, as walking over the value would, however the bytes are cut', () => {
    const json = fc.oneof(fc.jsonValue({ maxDepth: 6 }), fc.jsonValue({ maxDepth: 2, noUnicodeString: false }));
    fc.assert(
      fc.property(json, fc.nat(40), fc.nat(6), fc.nat(20), fc.boolean(), (value, members, levels, cut, spaced) => {
        const bytes = Buffer.from(JSON.stringify(value, null, spaced ? 2 : 0));
        const has = measured(value);
        const excess = exceededLimit(bytes, { members, levels });
        assert.equal(excess !== undefined, has.members > members || has.levels > levels);
        const gauge = new JsonLimitCounter({ members, levels });
        gauge.feed(bytes.subarray(0, cut));
        assert.equal(gauge.feed(bytes.subarray(cut)), excess);
      }),
    );
  });

  it('looks at no byte behind the first that is too much', () => {
    const names = `{${Array.from({ length: 380_000 }, (_, at) => `"${at.toString(36)}":1`).join(',')}}`;
    const gauge = new JsonLimitCounter(INPUT_LIMITS);
    assert.equal(gauge.feed(Buffer.from(names)), 'members');
    assert.equal(gauge.looked, Buffer.from(names).indexOf(`,"${INPUT_LIMITS.members.toString(36)}"`) + 1);
    assert.equal(gauge.feed(Buffer.alloc(1000, '[')), 'members');
    const nested = new JsonLimitCounter(INPUT_LIMITS);
    assert.equal(nested.feed(Buffer.alloc(1_000_000, '[')), 'levels');
    assert.equal(nested.looked, INPUT_LIMITS.levels + 1);
  });

  it('takes brackets and commas in texts for what they are', () => {
    const text = JSON.stringify({ text: `${'[{,'.repeat(1000)}\\"[[[` });
    assert.equal(exceededLimit(Buffer.from(text), { members: 1, levels: 1 }), undefined);
  });
});

function measured(value: unknown): { members: number; levels: number } {
  if (typeof value !== 'object' || value === null) return { members: 0, levels: 0 };
  const below = Object.values(value).map(measured);
  return {
    members: below.reduce((sum, { members }) => sum + members, below.length),
    levels: 1 + Math.max(0, ...below.map(({ levels }) => levels)),
  };
}
