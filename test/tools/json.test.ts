import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { catalog } from '../../tools/catalog.ts';
import { exceededLimit, INPUT_LIMITS, JsonLimitCounter } from '../../tools/core/registry/json-limits.ts';
import { briefSchema, declareJsonSchema, jsonSchema } from '../../tools/core/registry/json-schema.ts';
import { inputFor } from '../contract/inputs.ts';
import { fc } from '../support/property.ts';

describe('the brief form of an input schema', () => {
  it('has no lengths, patterns and formats, nor bounds that older readers refuse or that say little, and keeps members that have such names', () => {
    const schema = z.strictObject({
      pattern: z.string().min(1).max(20),
      list: z.array(z.string().max(5)).max(3).nullable().describe('Some.'),
      count: z.int().min(1).max(9),
      kind: z.enum(['a', 'b']).nullable(),
      inner: z.strictObject({ a: z.boolean() }),
      day: z.iso.date(),
      at: z.iso.datetime(),
      share: z.number().positive(),
      map: z.record(z.string().max(9), z.unknown()),
    });
    assert.deepEqual(briefSchema(schema), {
      type: 'object',
      properties: {
        pattern: { type: 'string' },
        list: { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }], description: 'Some.' },
        count: { type: 'integer', minimum: 1, maximum: 9 },
        kind: { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }] },
        inner: { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] },
        day: { type: 'string' },
        at: { type: 'string', format: 'date-time' },
        share: { type: 'number' },
        map: { type: 'object', additionalProperties: true },
      },
      required: ['pattern', 'list', 'count', 'kind', 'inner', 'day', 'at', 'share', 'map'],
      additionalProperties: false,
    });
  });

  it('has the plain forms of the whole schema', () => {
    const schema = z.strictObject({
      form: z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('a') }),
        z.strictObject({ kind: z.literal('b'), more: z.email() }),
      ]),
      names: z.record(z.string(), z.url()),
    });
    const kindOf = (kind: string) => ({ type: 'string', enum: [kind] });
    assert.deepEqual(jsonSchema(schema, 'input').properties, {
      form: {
        anyOf: [
          { type: 'object', properties: { kind: kindOf('a') }, required: ['kind'], additionalProperties: false },
          {
            type: 'object',
            properties: { kind: kindOf('b'), more: { type: 'string' } },
            required: ['kind', 'more'],
            additionalProperties: false,
          },
        ],
      },
      names: { type: 'object', additionalProperties: { type: 'string' } },
    });
  });

  it('leaves a schema from elsewhere as it is', () => {
    const declared = { type: 'object', properties: { a: { type: 'string', maxLength: 3 } } };
    const schema = declareJsonSchema(z.looseObject({}), declared);
    assert.equal(briefSchema(schema), declared);
    assert.equal(jsonSchema(schema, 'input'), declared);
  });

  it('takes whatever the whole schema takes, of every tool', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { tool } of catalog.entries) {
      const input = inputFor(tool.name);
      assert.ok(ajv.validate(jsonSchema(tool.input, 'input'), input), `${tool.name} whole`);
      assert.ok(ajv.validate(briefSchema(tool.input), input), `${tool.name} brief: ${ajv.errorsText()}`);
      assert.equal(ajv.validate(briefSchema(tool.input), { ...input, unheard_of: 1 }), false, tool.name);
    }
  });
});

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
