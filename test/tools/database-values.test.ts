import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Column } from '../../resources/database.ts';
import { changedValues, newValues, type Values } from '../../tools/databases/values.ts';

const ofType: Readonly<Record<Column['type'], fc.Arbitrary<unknown>>> = {
  string: fc.string(),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  boolean: fc.boolean(),
  'date-time': fc
    .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((at) => at.toISOString()),
  json: fc.oneof(
    fc.string(),
    fc.integer(),
    fc.array(fc.boolean()),
    fc.dictionary(fc.constantFrom('a', 'b'), fc.integer()),
  ),
};

const columns = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z][a-z 0-9]{0,5}[a-z]$/),
    type: fc.constantFrom<Column['type']>('string', 'number', 'boolean', 'date-time', 'json'),
    required: fc.boolean(),
  }),
  { minLength: 1, maxLength: 8, selector: ({ name }) => name },
);

/** Values for all of the columns, or for some; null only where it may be. */
function valuesFor(of: readonly Column[], all: boolean): fc.Arbitrary<Values> {
  const one = ({ type, required }: Column) => (required ? ofType[type] : fc.option(ofType[type], { nil: null }));
  const members = Object.fromEntries(of.map((column) => [column.name, one(column)]));
  return all ? fc.record(members) : fc.record(members, { requiredKeys: [] });
}

const cases = columns.chain((of) => fc.tuple(fc.constant(of), valuesFor(of, true), valuesFor(of, false)));

describe('values of a record', () => {
  it('changed are the values that a new record of both would have', () => {
    fc.assert(
      fc.property(cases, ([of, first, change]) => {
        const changed = changedValues(of, newValues(of, first), change);
        assert.deepEqual(changed, newValues(of, { ...first, ...change }));
        assert.deepEqual(
          Object.keys(changed),
          of.map(({ name }) => name).filter((name) => name in changed),
        );
      }),
    );
  });

  it('stay as they are when changed by nothing or by themselves', () => {
    fc.assert(
      fc.property(cases, ([of, first]) => {
        const made = newValues(of, first);
        assert.deepEqual(changedValues(of, made, {}), made);
        assert.deepEqual(changedValues(of, made, made), made);
      }),
    );
  });

  it('of a column of another type are refused', () => {
    fc.assert(
      fc.property(columns, fc.constantFrom('string', 'number', 'boolean'), (of, type) => {
        const column = of.find((candidate) => candidate.type !== type && candidate.type !== 'json');
        fc.pre(column !== undefined);
        const value = { string: 'no time', number: 1, boolean: true }[type];
        assert.throws(() => changedValues(of, {}, { [column?.name ?? '']: value }), { code: 'invalid_input' });
      }),
    );
  });
});
