import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { guides } from '../../facade/guides/guides.ts';
import { breakingChanges, requireMajor, type Schema, type Surface, surface } from './surface.ts';

const file = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const released: Surface & { readonly version: string } = JSON.parse(file('released.json'));
const { version } = JSON.parse(file('../../package.json')) as { readonly version: string };
const changelog = guides.find(({ name }) => name === 'changelog')?.markdown ?? '';

const input = (schema: Schema): Surface => ({
  tools: { one: { input: schema, output: {} } },
  routes: {},
  environment: [],
});
const output = (schema: Schema): Surface => ({
  tools: { one: { input: {}, output: schema } },
  routes: {},
  environment: [],
});
const object = (properties: Readonly<Record<string, Schema>>, required: string[] = []): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
});
const text = { type: 'string' };
const kindOf = (kind: string) => object({ kind: { type: 'string', enum: [kind] } });

describe('what others build upon', () => {
  it('is that of the last release, but for what the changelog says under Breaking', () => {
    const changes = breakingChanges(released, surface());
    const [, unreleased = ''] = /## Unreleased\n(.*?)(?=\n## |$)/s.exec(changelog) ?? [];
    const [, breaking = ''] = /### Breaking\n(.*?)(?=\n### |$)/s.exec(unreleased) ?? [];
    const unsaid = changes.filter((change) => !breaking.includes(`\`${change.split(': ', 1)[0]}\``));
    assert.deepEqual(unsaid, []);
  });

  it('is named with its version in the changelog', () => {
    assert.match(changelog, new RegExp(`^## ${version.replaceAll('.', '\\.')} `, 'm'));
    assert.equal(released.version, version);
  });

  for (const [title, before, after, change] of [
    ['a tool', input({}), { tools: {}, routes: {}, environment: [] }, 'one: is gone'],
    ['an input', input(object({ a: text })), input(object({})), 'one input.a: is gone'],
    [
      'an optional input',
      input(object({ a: text })),
      input(object({ a: text }, ['a'])),
      'one input.a: is required now',
    ],
    ['a type', input(object({ a: text })), input(object({ a: { type: 'number' } })), 'one input.a: another type'],
    [
      'a value',
      input(object({ a: { ...text, enum: ['x', 'y'] } })),
      input(object({ a: { ...text, enum: ['x'] } })),
      'one input.a: no longer takes "y"',
    ],
    [
      'a bound',
      input(object({ a: { ...text, maxLength: 9 } })),
      input(object({ a: { ...text, maxLength: 8 } })),
      'one input.a: a tighter maxLength',
    ],
    [
      'a form',
      input({ anyOf: [kindOf('x'), kindOf('y')] }),
      input({ anyOf: [kindOf('x'), kindOf('z')] }),
      'one input: a form is gone',
    ],
    ['a member of an answer', output(object({ a: text })), output(object({})), 'one output.a: is gone'],
    [
      'a member of the rows of an answer',
      output(object({ data: { type: 'array', items: object({ a: text }) } })),
      output(object({ data: { type: 'array', items: object({}) } })),
      'one output.data[].a: is gone',
    ],
    [
      'what is always there',
      output(object({ a: text }, ['a'])),
      output(object({ a: text })),
      'one output.a: may be missing now',
    ],
    [
      'the type of an answer',
      output(object({ a: text })),
      output(object({ a: { type: 'number' } })),
      'one output.a: another type',
    ],
    [
      'a form of words',
      input(object({ a: text })),
      input(object({ a: { ...text, pattern: '^x' } })),
      'one input.a: another pattern',
    ],
    ['what is open', input({ type: 'object' }), input(object({})), 'one input: takes no other members'],
    [
      'a path',
      { ...input({}), routes: { 'GET /a': 'one' } },
      { ...input({}), routes: { 'GET /a': 'two' } },
      'GET /a: calls another tool',
    ],
    ['a variable', { ...input({}), environment: ['PORT'] }, input({}), 'PORT: is gone'],
  ] as const) {
    it(`loses ${title} only as a breaking change`, () => {
      assert.deepEqual(breakingChanges(before, after), [change]);
      assert.deepEqual(breakingChanges(before, before), []);
    });
  }

  it('is given up by a release only with another major version', () => {
    assert.throws(() => requireMajor('1.2.0', '1.3.0', ['one: is gone']), /2\.0\.0/);
    for (const [before, after] of [
      ['1.2.0', '2.0.0'],
      ['0.1.0', '0.2.0'],
      ['0.1.0', '1.0.0'],
    ] as const)
      requireMajor(before, after, ['one: is gone']);
    requireMajor('1.2.0', '1.2.1', []);
  });

  it('may take more and answer more', () => {
    const before = input(object({ a: { ...text, enum: ['x'], maxLength: 8 } }, ['a']));
    const after = input(object({ a: { ...text, enum: ['x', 'y'], maxLength: 9 }, b: text }));
    assert.deepEqual(breakingChanges(before, after), []);
    assert.deepEqual(breakingChanges(output(object({})), output(object({ a: text }))), []);
  });
});
