import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import type { Issue } from '../../resources/error.ts';
import { importedRows } from '../../resources/imported-rows.ts';
import { catalog } from '../../tools/catalog.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { parseInput } from '../../tools/core/registry/validate.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { validInput } from './fuzz-inputs.ts';
import { mutatedInput, type Value } from './fuzz-mutations.ts';
import type { Pool } from './fuzz-workspace.ts';
import { faultsOf } from './plain-words.ts';

const SAMPLES = rounds(25, 1000);
const SEED = 20261122;
const NOTHING: Pool = { ids: new Map(), versions: [] };

function refusalOf(schema: z.ZodObject, input: unknown): ToolError | undefined {
  try {
    parseInput(schema, input);
    return undefined;
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
}

function issuesOf(schema: z.ZodObject, input: unknown): readonly Issue[] {
  return refusalOf(schema, input)?.detail.issues ?? [];
}

/** Inputs with something wrong in them: by chance, and each member missing, and of each type. */
function badInputs(schema: z.ZodObject, name: string): unknown[] {
  const valid = validInput(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), NOTHING, name);
  const byChance = fc.sample(mutatedInput(valid), { seed: SEED, numRuns: SAMPLES });
  const [whole = {}] = fc.sample(valid, { seed: SEED, numRuns: 1 });
  const others: Value[] = [null, 0.5, -1e9, 1e300, '', ' ', 'ä'.repeat(10_001), true, [], [1], ['', ''], {}, { '': 1 }];
  const members = Object.keys(schema.shape);
  const each = members.flatMap((member) => others.map((value) => ({ ...Object(whole), [member]: value })));
  const missing = members.map((member) => ({ ...Object(whole), [member]: undefined }));
  return [...byChance, ...each, ...missing, undefined, null, [], 'text', { nmae: 1 }];
}

describe('a refused input', () => {
  const schemas = new Map<string, z.ZodObject>(catalog.entries.map(({ tool }) => [tool.name, tool.input]));
  for (const [type, { schema }] of Object.entries(importedRows)) schemas.set(`row of ${type}`, schema);

  it('gets one message in plain words that names the member and what to do, whatever is wrong with it', () => {
    let refused = 0;
    const found = new Set<string>();
    for (const [name, schema] of schemas) {
      for (const input of badInputs(schema, name)) {
        const refusal = refusalOf(schema, input);
        if (!refusal) continue;
        refused += 1;
        for (const fault of faultsOf({ error: refusal.message, issues: refusal.detail.issues }))
          found.add(`${name}: ${fault.slice(0, 300)}`);
      }
    }
    assert.deepEqual([...found].slice(0, 50), []);
    assert.ok(refused > 10 * schemas.size, `${refused} refused`);
  });

  it('gets such a message for every kind of mistake', () => {
    const schema = z.strictObject({
      name: z.string().min(2).max(5),
      count: z.int().min(1).max(9),
      share: z.number().positive().lt(1),
      step: z.number().multipleOf(5),
      state: z.enum(['on', 'off']),
      only: z.literal('x'),
      flag: z.boolean(),
      list: z.array(z.string().min(1)).min(1).max(2),
      some: z.union([z.literal('all'), z.array(z.string())]),
      kind: z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('a') }),
        z.strictObject({ kind: z.literal('b') }),
      ]),
      map: z.record(z.string().max(3), z.boolean()),
      at: z.iso.datetime(),
      link: z.url(),
    });
    const input = {
      ...{ name: 'a', count: 1.5, share: 0, step: 3, state: 'no', only: 1, list: ['', 2], some: ['a', 1] },
      ...{ kind: { kind: 'c' }, map: { one: 'x' }, at: 'now', link: 'here', flga: 1 },
    };
    assert.deepEqual(Object.fromEntries(issuesOf(schema, input).map(({ path, message }) => [path, message])), {
      name: 'Is too short; write at least 2 characters.',
      count: 'Give a whole number.',
      share: 'Is too small; give more than 0.',
      step: 'Give a multiple of 5.',
      state: 'Write one of: on, off.',
      only: 'Write "x".',
      flag: 'Is required; give true or false.',
      'list[0]': 'May not be empty; write at least one character.',
      'list[1]': 'Give text, not a number.',
      'some[1]': 'Give text, not a number.',
      'kind.kind': 'Write one of: a, b.',
      'map.one': 'Give true or false, not text.',
      at: 'Write a time like 2026-03-01T09:30:00Z.',
      link: 'Write a URL, like https://example.com.',
      flga: 'There is no field "flga" here; did you mean "flag"?',
    });
    assert.deepEqual(issuesOf(z.strictObject({ q: z.string().optional() }), { x: 1 }), [
      { path: 'x', message: 'There is no field "x" here; allowed: q.' },
    ]);
    const given = z.strictObject({ id: z.string(), name: z.string().optional() });
    assert.deepEqual(issuesOf(given, { id: 'a', idd: 'b' }), [
      { path: 'idd', message: 'There is no field "idd" here; allowed: name.' },
    ]);
    assert.deepEqual(issuesOf(schema.pick({ some: true }), { some: 1 }), [
      { path: 'some', message: 'Give "all" or a list.' },
    ]);
    assert.deepEqual(issuesOf(schema.pick({ list: true }), { list: ['a', 'b', 'c'] }), [
      { path: 'list', message: 'Has too many items (3); give at most 2.' },
    ]);
    assert.deepEqual(issuesOf(schema.pick({ map: true }), { map: { long: true } }), [
      { path: 'map.long', message: 'The name does not fit. Is too long (4); write at most 3 characters.' },
    ]);
  });
});
