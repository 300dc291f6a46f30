import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { openTestRegistry, principalOf, type TestRegistry, testFacts, toolAnswer } from '../support/registry.ts';

const admin = principalOf({ type: 'api-key', id: 'key_1', scopes: ['*'] });

describe('the cursor of a list', () => {
  let world: TestRegistry;
  const ids: string[] = [];
  before(async () => {
    world = await openTestRegistry();
    for (let at = 0; at < 4; at += 1) {
      const answer = await world.must(admin, 'create_flow', { name: `flow ${at}`, enabled: at > 0 });
      ids.unshift(String(answer.id));
    }
  });

  async function page(input: object, { tool = 'list_flows', principal = admin } = {}) {
    const answer = await world.must(principal, tool, { limit: 1, ...input });
    const { data, nextCursor } = answer as { data: { id: string }[]; nextCursor: string };
    return { ids: data.map(({ id }) => id), cursor: nextCursor };
  }
  async function isRefused(input: object, tool = 'list_flows', principal: Principal = admin) {
    const answer = await world.refused(principal, tool, { limit: 1, ...input });
    assert.match(answer.error, /The cursor does not belong to this list and these filters/);
  }
  const limitedTo = (id: string, ...names: string[]) =>
    principalOf({ type: 'api-key', id, grants: names.map((name) => `flow:read:${name}`) });

  it('leads through all records, each once', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const next = await page({ ...(cursor && { cursor }) });
      seen.push(...next.ids);
      cursor = next.cursor ?? undefined;
    } while (cursor && seen.length <= ids.length);
    assert.deepEqual(seen, ids);
  });

  it('is another at each place, and the same for the same place and filters', async () => {
    const first = await page({});
    const second = await page({ cursor: first.cursor });
    assert.notEqual(first.cursor, second.cursor);
    assert.equal((await page({})).cursor, first.cursor);
    assert.notEqual((await page({ enabled: true })).cursor, first.cursor);
  });

  it('is refused with other filters', async () => {
    const { cursor } = await page({});
    await isRefused({ cursor, enabled: true });
    await isRefused({ cursor: (await page({ enabled: true })).cursor });
    await isRefused({ cursor: (await page({ enabled: true })).cursor, enabled: false });
  });

  it('is refused in another list, also one with the same filters', async () => {
    const { cursor } = await page({});
    for (const tool of ['list_agents', 'list_projects', 'list_goals']) await isRefused({ cursor }, tool);
  });

  it('is refused for a caller who sees other records, and taken for one who sees the same', async () => {
    const [one = '', two = '', three = ''] = ids;
    const { cursor } = await page({}, { principal: limitedTo('key_2', one, two) });
    await isRefused({ cursor });
    await isRefused({ cursor }, 'list_flows', limitedTo('key_3', one, three));
    await isRefused({ cursor: (await page({})).cursor }, 'list_flows', limitedTo('key_2', one, two));
    assert.deepEqual((await page({ cursor }, { principal: limitedTo('key_4', one, two) })).ids, [two]);
  });

  it('holds in another process on the same store', async () => {
    const { cursor } = await page({});
    const server = testFacts(world.store, { catalog, now: () => new Date() });
    const other = createRegistry({ store: world.store, server, onFailure: assert.fail });
    const call = {
      principal: admin,
      tool: 'list_flows',
      input: { limit: 1, cursor },
      door: 'mcp',
      requestId: 'r',
    } as const;
    const answer = toolAnswer(await other.call(call));
    assert.ok('output' in answer);
    assert.equal((answer.output as { data: { id: string }[] }).data[0]?.id, ids[1]);
  });

  it('is refused where anything in it was changed', async () => {
    const { cursor } = await page({});
    const mark = cursor.slice(0, 12);
    const place = JSON.parse(Buffer.from(cursor.slice(12), 'base64url').toString());
    const made = (value: unknown) => mark + Buffer.from(JSON.stringify(value)).toString('base64url');
    assert.equal(made(place), cursor);
    for (const changed of [
      [],
      place.slice(0, 2),
      [place[0], place[1], 'x'.repeat(12)],
      [place[1], place[0], place[2]],
      [7, place[1], place[2]],
      ['no time', place[1], place[2]],
      [...place, place[2]],
      { 0: place[0] },
      null,
    ]) {
      await isRefused({ cursor: made(changed) });
    }
    const spaced = Buffer.from(JSON.stringify(place, null, 1)).toString('base64url');
    for (const text of [
      'x',
      cursor.slice(12),
      `${cursor}=`,
      `${cursor}A`,
      mark,
      mark + spaced,
      `A${cursor.slice(1)}`,
    ]) {
      await isRefused({ cursor: text });
    }
  });
});
