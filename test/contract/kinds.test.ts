import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { entityType } from '../../resources/version.ts';
import { type CollectionName, collections } from '../../store/collections.ts';
import type { Writers } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { grantNames } from '../../tools/core/access/assignable.ts';
import { subjectOf } from '../../tools/core/access/subjects.ts';
import { isVersioned } from '../../tools/core/kind.ts';
import { kinds } from '../../tools/kinds.ts';
import { sampleRecord } from '../store/sample-record.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { pluck } from '../support/pluck.ts';
import { until } from '../support/until.ts';

/** Collections whose records people work with: those that search looks in. */
const searchable = Object.entries(collections).flatMap(
  ([name, definition]) =>
    definition.search ? [{ name: name as CollectionName, ...definition, search: definition.search }] : [], // its own key
);
type Searchable = (typeof searchable)[number];

/** They decide who may do what: flows wait for no change of them. */
const WITHOUT_EVENTS: readonly CollectionName[] = ['capsules', 'adminUsers'];

/** Members with rules of their own: a skill may be deleted once no active agent uses it, messages go with their thread. */
const ELSEWHERE = ['agent.skillIds', 'message.threadId', 'message.agentId'];

type Named = { readonly id: string; readonly [member: string]: unknown };
type Kept = { readonly id: string };
interface AnyWriter {
  insert(record: object): Promise<Kept>;
  update(id: string, change: object): Promise<Kept>;
  delete(id: string): Promise<Kept>;
}
// The loops go over collections by name; each gets records that its own schema takes.
const writerOf = (tx: Writers, name: string) => tx[name as CollectionName] as unknown as AnyWriter;

/** The text in a member that is searched: the first that takes any text, or else by columns. */
function saying({ schema, search }: Pick<Searchable, 'schema' | 'search'>, text: string): object {
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  const members: readonly string[] = [...search.text, ...search.title];
  const plain = members.find((member) => shape[member]?.safeParse(text).success);
  return plain === undefined ? { [members[0] ?? '']: { column: text } } : { [plain]: text };
}

let count = 0;
/** A record that everybody sees, with the marker in a member that is searched; one of its own for what it belongs to. */
async function insertOne(tx: Writers, { name, schema, search }: Searchable, marker: string): Promise<Kept> {
  count += 1;
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape;
  const flags = Object.keys(shape).filter((key) => shape[key]?.safeParse(false).success);
  const owner = search.owner && searchable.find((other) => other.name === search.owner?.collection);
  const belongsTo = owner && search.owner && { [search.owner.field]: (await insertOne(tx, owner, `owner${count}`)).id };
  const { createdAt: _, updatedAt: __, id: ___, revision: ____, ...sample } = sampleRecord(schema, []);
  const unique = Object.fromEntries(
    ['name', 'email'].flatMap((key) => (key in shape ? [[key, `n${count}@x.example`]] : [])),
  );
  return writerOf(tx, name).insert({
    ...sample,
    ...unique,
    ...Object.fromEntries(flags.map((key) => [key, false])),
    ...('accessKeys' in shape && { accessKeys: ['admin', 'workspace'] }),
    ...belongsTo,
    ...saying({ schema, search }, marker),
  });
}

describe('every kind of record', () => {
  for (const { name, search } of searchable) {
    it(`${search.type} is described by a kind, which is listed once`, () => {
      const found = kinds.filter(({ collection }) => collection === name);
      assert.deepEqual(pluck(found, 'type'), [search.type], `tools/kinds.ts lists the kind ${search.type} once`);
    });
  }

  for (const { type, resource, list, get, update } of kinds) {
    it(`${type} has tools of the catalog, and grants that can be given`, () => {
      const tools = [list, get, update].filter((tool) => tool !== undefined);
      for (const tool of tools) assert.equal(catalog.get(tool.name)?.tool, tool, `${tool.name} of the kind ${type}`);
      assert.ok(grantNames(catalog).get(resource)?.has('read'), `${resource} is no resource of a grant`);
    });
  }

  for (const { type, collection, resource, names, get } of kinds) {
    if (!get || !names.includes('id')) continue;
    it(`${type} is found by the names that grants use for it`, () => {
      const record: Named = { id: '', ...sampleRecord(collections[collection].schema, []), status: 'active' };
      assert.deepEqual(
        subjectOf(resource, record).names,
        names.map((name) => record[name]),
      );
    });
  }

  it('says which of its members refer to other records, each to a kind, a name to the same kind everywhere', () => {
    const types = new Set([...kinds.map(({ type }) => type), 'user']);
    const referring = [...types].map((type) => `${type.replace(/-(.)/g, (_, letter) => letter.toUpperCase())}Id`);
    const meanings = new Map<string, string>();
    for (const { type, collection, refersTo = {} } of kinds) {
      const members = Object.keys(collections[collection].schema.shape);
      const found = members.filter((member) => [...referring, 'assigneeAgentId'].includes(member.replace(/s$/, '')));
      const exempt = found.filter((member) => ELSEWHERE.includes(`${type}.${member}`));
      assert.deepEqual(Object.keys(refersTo).sort(), found.filter((member) => !exempt.includes(member)).sort(), type);
      for (const [member, other = ''] of Object.entries(refersTo)) {
        assert.ok(types.has(other), `${type}.${member} refers to ${other}, which is no kind`);
        assert.equal(meanings.get(member) ?? other, other, `${type}.${member} refers to another kind elsewhere`);
        meanings.set(member, other);
      }
    }
  });

  it('that has a history is a type of versions, and no other is', () => {
    const versioned = kinds.filter(isVersioned).map(({ type }) => type);
    assert.deepEqual(versioned.sort(), [...entityType.options].sort());
  });
});

describe('every kind of record that is searched', () => {
  let world: FlowWorld;
  before(async () => {
    world = await FlowWorld.open();
  });
  after(() => world.close());

  for (const collection of searchable) {
    const { type } = collection.search;
    it(`${collection.name} is found by search, as ${type}`, async () => {
      const marker = `marker${collection.name}`;
      const { id } = await world.store.transaction((tx) => insertOne(tx, collection, marker));
      const input = jsonInput('search');
      assert.ok(input.includes(`"${type}"`), `search takes no type ${type}`);
      const { data, facets } = await world.must('search', { q: marker, types: [type] });
      assert.deepEqual(
        data.map((hit: { type: string; id: string }) => [hit.type, hit.id]),
        [[type, id]],
      );
      assert.equal(facets[type], 1);
    });
  }

  it('starts the flows that wait for what happens to it', async () => {
    const evented = searchable.filter(({ name }) => !WITHOUT_EVENTS.includes(name));
    const { data } = await world.must('list_event_types', {});
    for (const kind of evented) {
      const flows = await Promise.all(
        happeningsOf(kind).map(async (happened) => {
          const told = data.find(
            ({ type, recordType }: Record<string, string>) =>
              recordType === kind.search.type && type?.endsWith(`.${happened}`),
          );
          assert.ok(told, `${kind.search.type}: no event type says that one was ${happened}`);
          const steps = [{ id: 'one', tool: 'check_health', arguments: {} }];
          return world.flow({ trigger: { kind: 'event', type: told.type }, steps });
        }),
      );
      await happenAll(world, kind);
      for (const { id, trigger } of flows) {
        const runs = () => world.store.flowRuns.count({ where: { flowId: id } });
        await until(async () => (await runs()) > 0).catch(() => {
          throw new Error(`no flow begins on ${JSON.stringify(trigger)}`);
        });
      }
    }
    assert.deepEqual(world.failures, []);
  });
});

function jsonInput(tool: string): string {
  const found = catalog.get(tool);
  assert.ok(found);
  return JSON.stringify(z.toJSONSchema(found.tool.input));
}

/** What can happen to records of the kind; those that are only ever added are not changed. */
function happeningsOf({ appendOnly }: Partial<Pick<Searchable, 'appendOnly'>>): string[] {
  return appendOnly ? ['created', 'deleted'] : ['created', 'updated', 'deleted'];
}

async function happenAll(world: FlowWorld, kind: Searchable): Promise<void> {
  const { id } = await world.store.transaction((tx) => insertOne(tx, kind, 'first'), world.admin);
  if (happeningsOf(kind).includes('updated')) {
    await world.store.transaction((tx) => writerOf(tx, kind.name).update(id, saying(kind, 'second')), world.admin);
  }
  await world.store.transaction((tx) => writerOf(tx, kind.name).delete(id), world.admin);
}
