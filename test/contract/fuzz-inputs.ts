import type { JsonSchema } from '../../tools/core/registry/json-schema.ts';
import { anyCharacter, fc } from '../support/property.ts';
import { isObject, type Value } from './fuzz-mutations.ts';
import { type Pool, ROWS } from './fuzz-workspace.ts';

const PREFIXES: Readonly<Record<string, readonly string[]>> = {
  agent: ['agt'],
  agentIds: ['agt'],
  agentId: ['agt'],
  assigneeAgentId: ['agt'],
  defaultAgentId: ['agt'],
  skillIds: ['skl'],
  threadId: ['thr'],
  messageId: ['msg'],
  projectId: ['prj'],
  goalId: ['gol'],
  databaseId: ['dbs'],
  versionId: ['ver'],
  against: ['ver'],
  supersedes: ['mem'],
  keyId: ['key'],
  capsuleId: ['cap'],
  principalId: ['usr', 'key'],
};

/** Inputs that fit the schema, as far as a JSON Schema says it. */
export function validInput(schema: JsonSchema, pool: Pool, tool: string): fc.Arbitrary<Value> {
  const input = arbitraryOf(schema, '', { pool, idPrefix: NOUNS.find(([noun]) => tool.includes(noun))?.[1] });
  if (!tool.includes('version')) return input;
  return fc.tuple(input, fc.nat()).map(([given, at]) => {
    const place = Object.entries(pick(pool.versions, at) ?? {}).filter(([name]) => isObject(given) && name in given);
    return { ...(given as object), ...Object.fromEntries(place) };
  });
}

/** The prefix of `id` by a word in the name of the tool. */
const NOUNS: readonly (readonly [string, string])[] = [
  ['identity', 'agt'],
  ['agent', 'agt'],
  ['skill', 'skl'],
  ['flow_run', 'run'],
  ['flow', 'flw'],
  ['thread', 'thr'],
  ['messages', 'thr'],
  ['admin_user', 'usr'],
  ['report', 'rep'],
  ['capsule', 'cap'],
  ['memory', 'mem'],
  ['key', 'key'],
  ['session', 'ses'],
  ['project', 'prj'],
  ['goal', 'gol'],
  ['task', 'tsk'],
  ['document', 'doc'],
  ['artifact', 'art'],
  ['database', 'dbs'],
  ['record', 'rec'],
  ['integration', 'int'],
  ['model_provider', 'mdp'],
  ['webhook_delivery', 'whd'],
  ['webhook', 'whk'],
];

interface FuzzContext {
  readonly pool: Pool;
  readonly idPrefix: string | undefined;
}

function arbitraryOf(schema: JsonSchema, name: string, around: FuzzContext): fc.Arbitrary<Value> {
  const { type, enum: values, const: only, anyOf, oneOf } = schema as Record<string, never>;
  const choices = (anyOf ?? oneOf) as JsonSchema[] | undefined;
  if (only !== undefined) return fc.constant(only);
  if (values) return fc.constantFrom(...(values as Value[]));
  if (choices) return fc.oneof(...choices.map((choice) => arbitraryOf(choice, name, around)));
  if (Array.isArray(type))
    return fc.oneof(...(type as string[]).map((one) => arbitraryOf({ ...schema, type: one }, name, around)));
  if (name === 'expectedRevision') return fc.integer({ min: 1, max: 3 });
  if (name === 'records') return fc.constantFrom(...(Object.values(ROWS) as Value[]));
  switch (type as string | undefined) {
    case 'string':
      return textOf(schema, name, around);
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return arrayOf(schema, name, around);
    case 'object':
      return objectOf(schema, around);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function numberOf({ type, minimum, maximum, exclusiveMinimum }: JsonSchema): fc.Arbitrary<number> {
  const min = Number(minimum ?? exclusiveMinimum ?? -1000);
  const max = Number(maximum ?? 1_000_000);
  if (type === 'integer')
    return fc.oneof(
      fc.constantFrom(min, max),
      fc.integer({ min, max }),
      fc.integer({ min, max: Math.min(max, min + 5) }),
    );
  return fc.double({ min, max, noNaN: true });
}

function arrayOf(schema: JsonSchema, name: string, around: FuzzContext): fc.Arbitrary<Value[]> {
  const { items = {}, minItems, maxItems } = schema as { items?: JsonSchema; minItems?: number; maxItems?: number };
  return fc.array(arbitraryOf(items, name, around), {
    minLength: minItems ?? 0,
    maxLength: Math.min(maxItems ?? 4, 4),
  });
}

function objectOf(schema: JsonSchema, around: FuzzContext): fc.Arbitrary<Value> {
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = schema as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
    additionalProperties?: JsonSchema | boolean;
  };
  // A cursor fits only the page before; what is made up is for the mutations.
  const members = Object.entries(properties).filter(([name]) => name !== 'cursor');
  const known = fc.record(
    Object.fromEntries(members.map(([name, member]) => [name, arbitraryOf(member, name, around)])),
    { requiredKeys: required },
  );
  if (typeof additionalProperties !== 'object') return known;
  const names = fc.oneof(
    fc.string({ minLength: 1, maxLength: 10 }),
    fc.constantFrom('a', 'list_agents', 'constructor', 'limit'),
  );
  const others = fc.dictionary(names, arbitraryOf(additionalProperties, '', around), { maxKeys: 4 });
  return fc.tuple(known, others).map(([members, more]) => ({ ...more, ...members }));
}

function textOf(schema: JsonSchema, name: string, { pool, idPrefix }: FuzzContext): fc.Arbitrary<string> {
  const prefixes = PREFIXES[name] ?? (idPrefix && (name === 'id' || name === 'entityId') ? [idPrefix] : undefined);
  if (prefixes)
    return fc.nat().map(
      (at) =>
        pick(
          prefixes.flatMap((prefix) => pool.ids.get(prefix) ?? []),
          at,
        ) ?? `${prefixes[0]}_none`,
    );
  const { format, pattern, minLength = 0, maxLength = 20 } = schema as Record<string, never>;
  if (format === 'date-time') return instants.map((date) => date.toISOString());
  if (format === 'date') return fc.oneof(days, fc.constantFrom('1900-01-01', '2199-12-31', '0000-01-01', '9999-12-31'));
  if (format === 'email') return fc.nat(50).map((n) => `person-${n}@example.com`);
  const known = KNOWN_TEXTS[name];
  if (known) return fc.constantFrom(...known);
  const form = typeof pattern === 'string' ? String(pattern) : '(?';
  if (!form.includes('(?')) return fc.stringMatching(new RegExp(form, 'u')).filter((text) => text.length <= 100);
  return fc.string({ unit: anyCharacter, minLength, maxLength: Math.max(minLength, Math.min(maxLength, 20)) });
}

const instants = fc.date({ noInvalidDate: true, min: new Date('1970-01-01'), max: new Date('9999-12-31') });
const days = fc
  .date({ noInvalidDate: true, min: new Date('2024-01-01'), max: new Date('2027-01-01') })
  .map((date) => date.toISOString().slice(0, 10));

const KNOWN_TEXTS: Readonly<Record<string, readonly string[]>> = {
  timezone: ['UTC', 'Europe/Berlin', 'America/St_Johns'],
  signInDomains: ['example.com'],
  currency: ['EUR', 'USD', 'JPY'],
  tool: ['list_agents', 'get_mrr', 'list_skills', 'get_agent', 'create_skill', 'search'],
  name: ['list_agents', 'get_overview', 'one', 'two', 'create_skill'],
  expression: ['0 3 * * *', '*/5 * * * 1-5'],
  url: ['http://127.0.0.1:9/mcp'],
  scopes: ['read', 'write', 'admin', 'agents:read'],
  grants: ['agent:read', 'memory:*', '*', 'tool:call'],
  mimeType: ['text/plain', 'image/png'],
  userId: ['u1', 'u2', 'u3', 'none'],
  uid: ['u1', 'u2', 'u9'],
  when: ['input.x == 1', 'has(steps.a)', 'true'],
  model: ['offline/rehearsal'],
  q: ['ada', 'list agents', 'one two three', '*'],
  data: ['eA==', ''],
  query: ['list_agents'],
};

function pick<Item>(items: readonly Item[], at: number): Item | undefined {
  return items[at % Math.max(1, items.length)];
}
