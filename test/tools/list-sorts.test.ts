import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { z } from 'zod';
import { catalog } from '../../tools/catalog.ts';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, codeOf } = callsOf(server);

const sorted = catalog.entries
  .map(({ tool }) => tool)
  .filter(({ name, input }) => name !== 'list_records' && 'sort' in input.shape);

type Shown = Readonly<{ id: string; name: string }>;

async function walk(list: string, input: object, key = server.adminKey): Promise<Shown[]> {
  const found: Shown[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await must(list, { limit: 2, ...input, ...(cursor && { cursor }) }, key);
    found.push(...page.data);
    if (page.nextCursor === null) return found;
    cursor = page.nextCursor;
  }
}

describe('a list that sorts', () => {
  const names = ['beta', 'Álpha', 'Zürich', 'alpha 2', 'ÉTÉ', 'eté 1', '😀', 'BETA'];
  const inOrder = ['Álpha', 'alpha 2', 'beta', 'BETA', 'ÉTÉ', 'eté 1', 'Zürich', '😀'];

  it('goes by name without case and accents, or by times, page by page, in both directions', async () => {
    for (const name of names) await must('create_project', { name });
    const [first] = await walk('list_projects', { sort: 'name' });
    await must('update_project', { id: first?.id, description: 'x', expectedRevision: 1 });
    const by = async (sort: string) => pluck(await walk('list_projects', { sort }), 'name');
    assert.deepEqual(await by('name'), inOrder);
    assert.deepEqual(await by('-name'), inOrder.toReversed());
    assert.deepEqual(await by('createdAt'), names);
    assert.deepEqual(await by('-createdAt'), pluck(await walk('list_projects', {}), 'name'));
    assert.equal((await by('updatedAt')).at(-1), 'Álpha');
    assert.deepEqual(await by('-updatedAt'), (await by('updatedAt')).toReversed());
  });

  it('keeps its filters and what the caller may see', async () => {
    const some = (await walk('list_projects', { sort: 'name' })).filter((_, at) => at % 3 === 0);
    const secret = await makeKey(server, { grants: some.map(({ id }) => `project:read:${id}`) });
    assert.deepEqual(pluck(await walk('list_projects', { sort: 'name' }, secret), 'id'), pluck(some, 'id'));
    const { data, total } = await must('list_projects', { q: 'bet', sort: '-name', includeTotal: true });
    assert.deepEqual([pluck(data, 'name'), total], [['BETA', 'beta'], 2]);
    for (const name of ['b', 'c', 'A']) await must('create_api_key', { name, scopes: ['read'] });
    const active = pluck(await walk('list_api_keys', { state: 'active', sort: 'name' }), 'name');
    assert.deepEqual(
      active.filter((name) => 'Abc'.includes(name)),
      ['A', 'b', 'c'],
    );
  });

  it('is the same over REST', async () => {
    for (const title of names) await must('create_thread', { title });
    const { body } = await rest(server, 'GET', '/api/v1/threads?sort=-title&limit=3', { key: server.adminKey });
    assert.deepEqual(pluck(body.data, 'title'), inOrder.toReversed().slice(0, 3));
  });

  it('refuses a cursor of another order, one without its place, and members by which it does not sort', async () => {
    const cursorOf = async (input: object) => (await must('list_projects', { limit: 1, ...input })).nextCursor;
    const cursor = await cursorOf({ sort: 'name' });
    for (const sort of ['-name', 'updatedAt', 'createdAt', undefined]) {
      const answer = await codeOf('list_projects', { limit: 1, cursor, ...(sort && { sort }) });
      assert.equal(answer, 'invalid_input', sort);
    }
    assert.equal(
      await codeOf('list_projects', { limit: 1, cursor: await cursorOf({}), sort: 'name' }),
      'invalid_input',
    );
    assert.equal(await codeOf('list_projects', { sort: 'description' }), 'invalid_input');
    assert.equal(await codeOf('list_memories', { q: 'x', sort: 'updatedAt' }), 'invalid_input');
  });

  it(`is each of ${sorted.length} lists, by each member that it names`, async () => {
    assert.ok(sorted.length >= 19);
    for (const { name, input } of sorted) {
      const { shape } = input;
      const orders: readonly string[] = (shape.sort as z.ZodOptional<z.ZodEnum>).unwrap().options.map(String);
      const times = name === 'list_users' ? ['createdAt'] : ['createdAt', 'updatedAt'];
      for (const time of times) assert.ok(orders.includes(time) && orders.includes(`-${time}`), name);
      for (const sort of orders) await must(name, { sort, limit: 1 });
    }
  });
});
