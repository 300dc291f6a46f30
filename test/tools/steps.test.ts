import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { z } from 'zod';
import { catalog } from '../../tools/catalog.ts';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { indexCatalog } from '../../tools/core/registry/catalog-index.ts';
import { CREATES, defineTool, READS } from '../../tools/core/registry/define-tool.ts';
import { pluck } from '../support/pluck.ts';
import { openTestRegistry, principalOf, type TestRegistry } from '../support/registry.ts';

const gates = new Map<string, Promise<void>>();

/** Shuts the gate of the name; the answer opens it. */
function shut(name: string): () => void {
  let open = () => {};
  gates.set(name, new Promise((resolve) => (open = resolve)));
  return () => open();
}

/** Makes two skills in two steps, waits at the gate between them and fails after the first where the second name is "bad". */
const makePair = defineTool({
  name: 'make_pair',
  title: 'Make a pair',
  description: 'Makes two skills.',
  access: ANYONE,
  annotations: CREATES,
  inSteps: true,
  input: z.strictObject({ first: z.string(), second: z.string() }),
  output: z.object({ ids: z.array(z.string()) }),
  errors: ['conflict'],

  async handler({ first, second }, { write, fail }) {
    const one = await write((store) => store.skills.insert({ name: first, instructions: 'a' }));
    await gates.get(first);
    if (second === 'bad') throw fail('conflict', 'The second cannot be made.');
    const two = await write((store) => store.skills.insert({ name: second, instructions: 'b' }));
    return { ids: [one.id, two.id] };
  },
});

/** Creates a skill as someone who may not. */
const createAsReader = defineTool({
  name: 'create_as_reader',
  title: 'Create as a reader',
  description: 'Tries to create a skill with the rights of a reader.',
  access: ANYONE,
  annotations: CREATES,
  inSteps: true,
  input: z.strictObject({}),
  output: z.object({ ok: z.boolean() }),
  errors: [],

  handler: async (_, { call }) => {
    const acting = { principal: reader, door: 'agent' } as const;
    return { ok: (await call('create_skill', { name: 'never', instructions: 'x' }, acting)).ok };
  },
});

const countSkills = defineTool({
  name: 'count_skills',
  title: 'Count skills',
  description: 'Counts the skills through a tool that would change them.',
  access: ANYONE,
  annotations: READS,
  input: z.strictObject({}),
  output: z.object({ ok: z.boolean(), error: z.string().optional() }),
  errors: [],

  async handler(_, { call }) {
    const answer = await call('make_pair', { first: 'x', second: 'y' });
    return answer.ok ? { ok: true } : { ok: false, error: answer.error.error };
  },
});

const admin = principalOf({ type: 'session', id: 'ses_admin', scopes: ['*'] });
const reader: Principal = principalOf({ type: 'agent', id: 'agt_reader', scopes: ['read'] });

describe('tools that run in steps', () => {
  let test: TestRegistry;
  const call = (tool: string, input: object, key?: string) =>
    test.registry.call({
      principal: admin,
      tool,
      input,
      door: 'mcp',
      requestId: 'test',
      ...(key !== undefined && { idempotency: { key, operation: tool } }),
    });
  const entriesOf = async (tool: string) => (await test.store.audit.find({ tool, limit: 10 })).records;

  before(async () => {
    const own = [makePair, createAsReader, countSkills].map((tool) => ({ group: 'Test', tool }));
    test = await openTestRegistry(undefined, indexCatalog([...catalog.entries, ...own]));
  });

  it('keep what earlier steps wrote where a later one fails, with its versions and one audit entry', async () => {
    const answer = await call('make_pair', { first: 'kept', second: 'bad' });
    assert.equal(!answer.ok && answer.error.code, 'conflict');
    const { records } = await test.store.skills.find({ where: { name: 'kept' }, limit: 2 });
    assert.equal(records.length, 1);
    const versions = await test.store.versions.find({ where: { entityId: records[0]?.id ?? '' }, limit: 2 });
    assert.equal(versions.records.length, 1);
    assert.deepEqual(pluck(await entriesOf('make_pair'), 'outcome'), ['failed']);
  });

  it('hold up nobody between two steps', async () => {
    const open = shut('waits');
    const waiting = call('make_pair', { first: 'waits', second: 'later' });
    assert.equal((await call('create_skill', { name: 'meanwhile', instructions: 'x' })).ok, true);
    open();
    assert.equal((await waiting).ok, true);
  });

  it('run once for one idempotency key: a repeat is refused while the first runs, and answers the same afterwards', async () => {
    const open = shut('once');
    const first = call('make_pair', { first: 'once', second: 'twice' }, 'k1');
    const early = await call('make_pair', { first: 'once', second: 'twice' }, 'k1');
    assert.equal(!early.ok && early.error.code, 'conflict');
    open();
    const answer = await first;
    const repeated = await call('make_pair', { first: 'once', second: 'twice' }, 'k1');
    assert.deepEqual(repeated, { ...answer, replayed: true });
    assert.equal((await test.store.skills.find({ where: { name: 'once' }, limit: 2 })).records.length, 1);
  });

  it('call others as the one who acts, with its rights and in its name', async () => {
    const answer = await call('create_as_reader', {});
    assert.deepEqual(answer, { ok: true, output: { ok: false } });
    const denied = (await entriesOf('create_skill')).find(({ outcome }) => outcome === 'denied');
    assert.equal(denied?.principal?.id, reader.id);
    assert.equal(denied?.door, 'agent');
  });

  it('cannot be called by a tool that only reads', async () => {
    assert.deepEqual(await call('count_skills', {}), {
      ok: true,
      output: { ok: false, error: 'Insufficient permissions' },
    });
  });
});
