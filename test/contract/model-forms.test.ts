import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { listedTool } from '../../tools/core/registry/listed-tool.ts';
import { geminiObstacles, type Obstacle, strictObstacles } from './model-forms.ts';

/** Tools that take an object whose members have names of the caller's choosing: no other form says the same. */
const OPEN: Readonly<Record<string, string>> = {
  invoke_agent: 'outputSchema is a JSON Schema',
  create_flow: 'arguments of any tool',
  update_flow: 'arguments of any tool',
  trigger_flow: 'input of any shape',
  create_report: 'arguments of any tool',
  update_report: 'arguments of any tool',
  update_bot_config: 'sections by name',
  update_settings: 'features and switches by name',
  create_capsule: 'constraints by tool and argument',
  update_capsule: 'constraints by tool and argument',
  preview_capsule: 'constraints by tool and argument',
  explain_access: 'arguments of any tool',
  replay_calls: 'constraints by tool and argument',
  list_records: 'filters by column',
  create_record: 'values by column',
  update_record: 'values by column',
  create_integration: 'environment and headers by name',
  update_integration: 'environment and headers by name',
  send_http_request: 'headers and parameters by name, and any body',
  send_message: 'blocks of Slack',
  create_model_provider: 'headers by name',
  update_model_provider: 'headers by name',
  import_records: 'rows of six types',
  call_tool: 'arguments of any tool',
};

/** Tools that strict mode refuses besides: an object that may be null, or is one of several kinds, with members that may be left out. */
const CHOICES = ['update_agent', 'update_admin_user', 'create_flow', 'update_flow', 'update_integration'];

function obstaclesBy(rules: (schema: object) => Obstacle[]): Record<string, Obstacle[]> {
  const listed = catalog.entries.filter(({ tool }) => !tool.doorOnly);
  const found = listed.map(({ tool }) => [tool.name, rules(listedTool(tool).inputSchema)] as const);
  return Object.fromEntries(found.filter(([, obstacles]) => obstacles.length > 0));
}

const open = Object.keys(OPEN).map((name) => [name, ['open object']] as const);

describe('listed input schemas', () => {
  it('convert to the strict mode of OpenAI, but for those of these tools', () => {
    const expected = new Map<string, readonly string[]>(open);
    for (const name of CHOICES) expected.set(name, [...(expected.get(name) ?? []), 'optional members in a choice']);
    const found = obstaclesBy(strictObstacles);
    assert.deepEqual(
      Object.fromEntries(Object.entries(found).map(([name, obstacles]) => [name, obstacles.sort()])),
      Object.fromEntries([...expected].map(([name, obstacles]) => [name, [...obstacles].sort()])),
    );
  });

  it('are in forms that Gemini took from the beginning, but for those of these tools', () => {
    assert.deepEqual(obstaclesBy(geminiObstacles), Object.fromEntries(open));
  });

  it('that do not convert are named in the reference', () => {
    const readme = readFileSync(new URL('../../facade/guides/reference-mcp.md', import.meta.url), 'utf8');
    const [, section = ''] = /\*\*Model hosts\*\*([\s\S]*?)\n- \*\*/.exec(readme) ?? [];
    const named = Array.from(section.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g), ([, name = '']) => name);
    assert.deepEqual([...new Set(named)].sort(), [...new Set([...Object.keys(OPEN), ...CHOICES])].sort());
  });
});

describe('the rules of model hosts', () => {
  const text = { type: 'string' };
  const objectWith = (member: object, rest: object = {}) => ({ type: 'object', properties: { member }, ...rest });

  it('find what strict mode refuses', () => {
    const takes = [text, objectWith(text), objectWith({ anyOf: [text, { type: 'null' }], description: 'Some.' })];
    for (const schema of takes) assert.deepEqual(strictObstacles(schema), []);
    assert.deepEqual(strictObstacles({ type: 'object', additionalProperties: text }), ['open object']);
    const choice = { anyOf: [objectWith(text), { type: 'null' }] };
    assert.deepEqual(strictObstacles(choice), ['optional members in a choice']);
    assert.deepEqual(strictObstacles({ anyOf: [objectWith(text, { required: ['member'] }), { type: 'null' }] }), []);
    for (const odd of [{ oneOf: [text] }, { $ref: '#' }, { not: text }, {}, { anyOf: [text], maxLength: 3 }])
      assert.deepEqual(strictObstacles(objectWith(odd)), ['a form that is not plain']);
  });

  it('find what Gemini refuses', () => {
    for (const odd of [{ const: 'a' }, { type: ['string', 'null'] }, { type: 'string', format: 'date' }, {}])
      assert.deepEqual(geminiObstacles(objectWith(odd)), ['a form that is not plain']);
    assert.deepEqual(geminiObstacles(objectWith({ type: 'string', enum: ['a'], format: 'date-time' })), []);
  });
});
