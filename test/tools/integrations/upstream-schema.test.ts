import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import type { JsonSchema } from '../../../tools/core/registry/json-schema.ts';
import { boundSchema } from '../../../tools/integrations/upstream/schema.ts';
import { inputCheck } from '../../../tools/integrations/upstream/validate-input.ts';
import { workMs } from '../../support/processor-time.ts';
import { fc } from '../../support/property.ts';

const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'x/y~z');
const type = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null');
const small = fc.integer({ min: 0, max: 3 });

/** Values as a message brings them, with members that the schemas speak of. */
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(null, true, 'a', 'ab', '🙂🙂', '', -1, 0, 1, 2.5, 4),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'constructor'), tie('value'), { maxKeys: 4 }),
  ),
}));

/** Schemas of the keywords that a check looks at. */
const { checked } = fc.letrec<{ checked: object; some: unknown }>((tie) => {
  const schemas = fc.array(tie('some'), { minLength: 1, maxLength: 2 });
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 4 })),
    properties: fc.dictionary(name, tie('some'), { maxKeys: 3 }),
    required: fc.uniqueArray(name, { maxLength: 1 }),
    additionalProperties: tie('some'),
    items: tie('some'),
    prefixItems: schemas,
    enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (each) => JSON.stringify(each) }),
    allOf: schemas,
    anyOf: schemas,
  };
  for (const bound of ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']) keywords[bound] = small;
  for (const size of ['Length', 'Items', 'Properties']) {
    keywords[`min${size}`] = small;
    keywords[`max${size}`] = small;
  }
  const members = Object.entries(keywords).map(([keyword, each]) => each.map((made) => [keyword, made] as const));
  return {
    checked: fc.array(fc.oneof(...members), { maxLength: 3 }).map((made) => Object.fromEntries(made)),
    some: fc.oneof({ maxDepth: 2, depthSize: 'small' }, fc.boolean(), tie('checked')),
  };
});

/** What a hostile server may send as a schema. */
const anything = fc.oneof(
  fc.jsonValue(),
  fc.dictionary(
    fc.constantFrom(
      ...[
        'type',
        'properties',
        'required',
        'items',
        'additionalItems',
        '$ref',
        '$id',
        '$anchor',
        '$dynamicRef',
        '$dynamicAnchor',
        '$comment',
        'pattern',
        'format',
      ],
      ...[
        'enum',
        'const',
        'nullable',
        'discriminator',
        'definitions',
        'anyOf',
        'not',
        'if',
        'then',
        'contains',
        'minLength',
      ],
      ...[
        'multipleOf',
        'propertyNames',
        'patternProperties',
        'unevaluatedProperties',
        'dependentRequired',
        'dependentSchemas',
        'dependencies',
        'unevaluatedItems',
        'minContains',
        '$async',
        'id',
      ],
    ),
    fc.oneof(
      fc.constantFrom(
        '#',
        '#/definitions/a',
        '#a',
        'a',
        'object',
        'string',
        'http://x/',
        '[',
        '(?<a>',
        'int32',
        -1,
        0,
        1.5,
        true,
        null,
      ),
      fc.constantFrom(
        {},
        [],
        { a: {} },
        { a: { type: 'string' } },
        [{}],
        ['a', 'a'],
        { '[': {} },
        { a: { $ref: '#/definitions/a' } },
      ),
      fc.jsonValue({ maxDepth: 2 }),
    ),
  ),
);

/** The value as it comes out of JSON. */
function received(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function problemsOf(schema: JsonSchema, value: unknown) {
  return inputCheck(schema)(value).map(({ path, message }) => ({ path, message }));
}

function bounded(raw: unknown) {
  try {
    return boundSchema(raw);
  } catch {
    return undefined;
  }
}

describe('the schema of an upstream', () => {
  it('is shown so that no client trips over it: validators of both dialects compile it', () => {
    const options = { strict: false, validateSchema: true, logger: false } as const;
    const dialects = [new Ajv.default(options), new Ajv2020.default(options)];
    let compiled = 0;
    fc.assert(
      fc.property(anything, (raw) => {
        const schema = bounded(received(raw));
        if (!schema) return;
        compiled += 1;
        for (const validator of dialects) {
          validator.compile(structuredClone(schema));
          validator.removeSchema();
        }
      }),
      { numRuns: 1500 },
    );
    assert.ok(compiled > 200, `${compiled} compiled`);
  });

  it('keeps what it says where it is well-formed', () => {
    fc.assert(fc.property(checked, (raw) => assert.deepEqual(bounded(received(raw)), received(raw))));
  });

  it('keeps its dialect, its names and what they lead to', () => {
    const modern = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $comment: 'made by hand',
      type: 'object',
      $defs: { node: { $dynamicAnchor: 'node', type: 'object' }, name: { $anchor: 'name', type: 'string' } },
      properties: {
        default: { $anchor: 'of-a-member', type: 'string' },
        name: { $ref: '#name' },
        node: { $dynamicRef: '#node' },
        other: { $ref: '#of-a-member' },
        list: { contains: {}, minContains: 2, unevaluatedItems: false },
      },
      dependentRequired: { name: ['node'] },
      dependentSchemas: { node: { required: ['name'] } },
      unevaluatedProperties: false,
      examples: [{ $ref: 'no reference' }],
    };
    assert.deepEqual(boundSchema(modern), modern);
    assert.deepEqual(problemsOf(boundSchema(modern), { name: 5 }), [], 'references by name are left to the server');
    const byPath = boundSchema({ ...modern, properties: { ...modern.properties, name: { $ref: '#/$defs/name' } } });
    assert.deepEqual(problemsOf(byPath, { name: 5 }), [{ path: ['name'], message: 'Give text, not a number.' }]);
    const old = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      definitions: { a: { type: 'string' } },
      properties: { pair: { items: [{ type: 'string' }, { type: 'number' }], additionalItems: false } },
      dependencies: { pair: ['other'], other: { required: ['pair'] } },
    };
    assert.deepEqual(boundSchema(old), old);
    const lone = { ...old, properties: { a: { $ref: '#/definitions/a', minLength: 9, title: 'A' } } };
    assert.deepEqual(boundSchema(lone).properties, { a: { $ref: '#/definitions/a', title: 'A' } });
    const { items: _, ...unsaid } = boundSchema({ items: [{}, {}] });
    assert.deepEqual(unsaid, { prefixItems: [{}, {}] });
    assert.deepEqual(boundSchema({ $schema: 'https://evil.example/meta', $id: 'https://x.example/', type: 'object' }), {
      type: 'object',
    });
  });

  it('is refused where it has no end, leads out of itself or is too large', () => {
    const deep = Array.from({ length: 50 }).reduce<object>((inner) => ({ items: inner }), {});
    const wide = { properties: Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`p${index}`, {}])) };
    const cases: [unknown, RegExp][] = [
      [deep, /deeper than 32/],
      [wide, /larger than/],
      [{ $ref: 'https://example.com/schema' }, /outside itself/],
      [{ $ref: '#/definitions/none' }, /leads nowhere/],
      [{ properties: { a: { $ref: '#/__proto__' } } }, /leads nowhere/],
      [{ $ref: '#nobody' }, /leads nowhere/],
      [{ $dynamicRef: '#nobody' }, /leads nowhere/],
      [{ $anchor: 'a', items: { $dynamicAnchor: 'a' } }, /two of its schemas/],
      [{ $anchor: '#a' }, /name of a schema/],
      [{ type: 'banana' }, /unknown type/],
      [{ properties: { a: 5 } }, /neither an object/],
      [[], /neither an object/],
      [true, /not an object/],
    ];
    for (const [raw, message] of cases) assert.throws(() => boundSchema(raw), message);
  });

  it('has its texts cut and cleaned', () => {
    const { description } = boundSchema({ description: `a\u0000\u202e\u{e0041}b${'x'.repeat(5000)}` });
    assert.match(String(description), /^abx+…$/);
    assert.equal(String(description).length, 1000);
  });
});

describe('the check of an input', () => {
  const validator = new Ajv2020.default({ strict: false, logger: false, ownProperties: true });
  const judges = (schema: object) => {
    validator.removeSchema();
    return validator.compile(structuredClone(schema));
  };

  it('refuses nothing that a validator allows, whatever else the schema says', () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof(checked, anything), value, (raw, sent) => {
        const [schema, input] = [bounded(received(raw)), received(sent)];
        if (!schema) return;
        const problems = problemsOf(schema, input);
        if (allows(schema, input)) assert.deepEqual(problems, [], JSON.stringify({ schema, input }));
        else refused += problems.length > 0 ? 1 : 0;
      }),
      { numRuns: 2000 },
    );
    assert.ok(refused > 50, `${refused} refused`);
  });

  /** False also where the validator itself has no end. */
  function allows(schema: object, input: unknown): boolean {
    try {
      return judges(schema)(input);
    } catch {
      return false;
    }
  }

  it('names each place, and the nearest name of what is not known', () => {
    const schema = boundSchema({
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'array', items: { type: 'integer', maximum: 7 } },
        place: { $ref: '#/$defs/place' },
      },
      $defs: { place: { type: 'object', properties: { street: {} }, additionalProperties: false } },
      required: ['city'],
      additionalProperties: false,
    });
    assert.deepEqual(problemsOf(schema, { citty: 'x', days: [1, 9, 'x', 1.5], place: { streat: 'y' } }), [
      { path: ['city'], message: 'Is required; give text.' },
      { path: ['days', 1], message: 'Is too big; give 7 or less.' },
      { path: ['days', 2], message: 'Give a number, not text.' },
      { path: ['days', 3], message: 'Give a whole number.' },
      { path: ['place', 'streat'], message: 'There is no field "streat" here; did you mean "street"?' },
      { path: ['citty'], message: 'There is no field "citty" here; did you mean "city"?' },
    ]);
  });

  it('takes no longer for a schema that would take a validator for ever', () => {
    const levels = Array.from({ length: 30 }, (_, index) => [
      `l${index}`,
      { allOf: [{ $ref: `#/$defs/l${index + 1}` }, { $ref: `#/$defs/l${index + 1}` }] },
    ]);
    const doubling = boundSchema({
      $ref: '#/$defs/l0',
      $defs: Object.fromEntries([...levels, ['l30', { type: 'string' }]]),
    });
    const circular = boundSchema({ $ref: '#', anyOf: [{ $ref: '#' }, { $ref: '#' }] });
    const names = Array.from({ length: 2000 }, (_, index) => `name ${index}`);
    const wide = boundSchema({ items: { enum: names, properties: { a: {} }, additionalProperties: false } });
    const forms = boundSchema({
      type: 'object',
      properties: { a: { type: 'array', items: { anyOf: Array.from({ length: 900 }, () => ({ type: 'string' })) } } },
    });
    const many = Array.from({ length: 50_000 }, () => 'other name');
    const took = workMs(() => {
      assert.deepEqual(problemsOf(doubling, 'text'), []);
      problemsOf(circular, {});
      assert.equal(problemsOf(forms, { a: [1, 2] }).length, 2);
      assert.deepEqual(problemsOf(forms, { a: many.map(() => 1) }), [], 'left to the server of the tool');
      problemsOf(wide, many);
      problemsOf(wide, [Object.fromEntries(many.map((_, index) => [`${'n'.repeat(90)}${index}`, 1]))]);
    });
    assert.ok(took < 5000, `${took} ms`);
  });
});
