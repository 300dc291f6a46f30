import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { z } from 'zod';
import { compiled } from '../../resources/compiled.ts';
import { catalog } from '../../tools/catalog.ts';
import { jsonSchema } from '../../tools/core/registry/json-schema.ts';
import { validationMessage } from '../../tools/core/registry/validation-messages.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { validInput } from './fuzz-inputs.ts';
import { isObject, mutatedInput, type Value } from './fuzz-mutations.ts';
import type { Pool } from './fuzz-workspace.ts';

const RUNS = rounds(8, 200);
const PREFIXES = 'agt skl thr msg prj gol dbs ver mem key cap usr flw run rep'.split(' ');
const pool: Pool = { ids: new Map(PREFIXES.map((prefix) => [prefix, [`${prefix}_${'0'.repeat(26)}`]])), versions: [] };

/** Values that fit, the same with a fault in them, and the same with a member that is there and undefined, as handlers leave some. */
function valuesOf(schema: z.ZodObject, io: 'input' | 'output', tool: string): fc.Arbitrary<unknown> {
  const fitting = validInput(jsonSchema(schema, io), pool, tool);
  const names = Object.keys(schema.shape);
  const holed = fc
    .tuple(fitting, fc.constantFrom('other', ...names))
    .map(([value, name]) => (isObject(value) ? { ...value, [name]: undefined } : value));
  return fc.oneof<fc.Arbitrary<unknown>[]>(fitting, mutatedInput(fitting as fc.Arbitrary<Value>), holed);
}

describe('compiled schemas', () => {
  let accepted = 0;

  for (const io of ['input', 'output'] as const) {
    it(`take the same ${io}s as zod, make the same of them, and word the same problems`, () => {
      for (const { tool } of catalog.entries) {
        const check = (value: unknown) => {
          const plain = tool[io].safeParse(value, { error: validationMessage });
          const fast = compiled(tool[io]).safeParse(value, { error: validationMessage });
          assert.equal(fast.success, plain.success, tool.name);
          assert.deepStrictEqual(fast.data, plain.data, tool.name);
          assert.equal(JSON.stringify(fast.data), JSON.stringify(plain.data), tool.name); // in the same order
          assert.deepStrictEqual(fast.error?.issues, plain.error?.issues, tool.name);
          if (plain.success) accepted += 1;
        };
        fc.assert(fc.property(valuesOf(tool[io], io, tool.name), check), { numRuns: RUNS });
      }
      assert.ok(accepted > catalog.entries.length, 'values that fit are among them');
    });
  }

  it('are compiled, all of them', () => {
    const left = catalog.entries
      .flatMap(({ tool }) => [tool.input, tool.output])
      .filter((schema) => compiled(schema) === schema);
    assert.deepEqual(left, []);
  });
});
