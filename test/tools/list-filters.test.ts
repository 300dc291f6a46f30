import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, codeOf } = callsOf(server);

/** Kinds with the member by whose exact value they are listed, and the path of their list over REST, where it has one. */
const listings = [
  { kind: 'flow', member: 'name', path: '/api/v1/agents/flows' },
  { kind: 'thread', member: 'title', path: '/api/v1/threads' },
  { kind: 'capsule', member: 'name' },
  { kind: 'project', member: 'name' },
  { kind: 'admin_user', member: 'email', path: '/api/v1/platform-users' },
];
const grantFor = (kind: string, id: string) => `${kind.replace('_', '-')}:read:${id}`;

describe('a list by the exact value of a member', () => {
  for (const { kind, member, path } of listings) {
    const list = `list_${kind}s`;
    it(`${list} {${member}} shows those, counts them, and only those that the caller may see`, async () => {
      const values = member === 'email' ? ['Ada+1@example.com', 'ada@example.com'] : ['Ada & Eve', 'Ada'];
      const made: string[] = [];
      for (const value of values) {
        const { id } = await must(`create_${kind}`, { [member]: value });
        made.push(id);
      }
      const seen = async (key: string, value: string) => {
        const page = await must(list, { [member]: value, includeTotal: true }, key);
        const query = `${member}=${encodeURIComponent(value)}&includeTotal=true`;
        const { body } = path ? await rest(server, 'GET', `${path}?${query}`, { key }) : { body: page };
        assert.deepEqual(body, page);
        return [pluck(page.data, 'id'), page.total];
      };
      assert.deepEqual(await seen(server.adminKey, values[0] ?? ''), [[made[0]], 1]);
      assert.deepEqual(await seen(server.adminKey, values[1] ?? ''), [[made[1]], 1]);
      assert.deepEqual(await seen(server.adminKey, member === 'email' ? 'a@example.com' : 'A'), [[], 0]);
      const limited = await makeKey(server, { grants: [grantFor(kind, made[0] ?? '')] });
      assert.deepEqual(await seen(limited, values[0] ?? ''), [[made[0]], 1]);
      assert.deepEqual(await seen(limited, values[1] ?? ''), [[], 0]);
    });
  }
});

const partOf = (displayName: string, at: number) => ({ name: `part-${at}`, displayName });
const nameOf = (name: string) => ({ name });
const named = [
  { kind: 'agent', path: '/api/v1/agents', create: partOf },
  { kind: 'skill', path: '/api/v1/agents/skills', create: partOf },
  { kind: 'flow', path: '/api/v1/agents/flows', create: nameOf },
  { kind: 'capsule', create: nameOf },
  { kind: 'project', create: nameOf },
];

describe('a list by a part of the name', () => {
  for (const { kind, path, create } of named) {
    it(`list_${kind}s {q} ignores case, counts exactly, and shows only what the caller may see`, async () => {
      const made: string[] = [];
      for (const [at, name] of ['Überfahrt Nord', 'ÜBERFAHRT Süd', 'Abfahrt 100%'].entries()) {
        made.unshift((await must(`create_${kind}`, create(name, at))).id);
      }
      const [, south = '', north = ''] = made;
      const seen = async (key: string, q: string, more: object = {}) => {
        const input = { q, includeTotal: true, ...more };
        const page = await must(`list_${kind}s`, input, key);
        const query = new URLSearchParams(
          Object.entries(input).map(([name, value]): [string, string] => [name, String(value)]),
        );
        const { body } = path ? await rest(server, 'GET', `${path}?${query}`, { key }) : { body: page };
        assert.deepEqual(body, page);
        return { ids: pluck(page.data, 'id'), total: page.total, next: page.nextCursor };
      };
      assert.deepEqual(await seen(server.adminKey, 'U\u0308BERfahrt'), { ids: [south, north], total: 2, next: null });
      assert.deepEqual(await seen(server.adminKey, 'fahrt'), { ids: made, total: 3, next: null });
      assert.deepEqual(await seen(server.adminKey, '0%'), { ids: made.slice(0, 1), total: 1, next: null });
      assert.deepEqual(await seen(server.adminKey, '_'), { ids: [], total: 0, next: null });

      const first = await seen(server.adminKey, 'überfahrt', { limit: 1 });
      assert.deepEqual([first.ids, first.total], [[south], 2]);
      const second = await seen(server.adminKey, 'überfahrt', { limit: 1, cursor: first.next });
      assert.deepEqual(second, { ids: [north], total: 2, next: null });
      const other = { q: 'fahrt', limit: 1, cursor: first.next };
      assert.equal(await codeOf(`list_${kind}s`, other), 'invalid_input');

      const limited = await makeKey(server, { grants: [grantFor(kind, north)] });
      assert.deepEqual(await seen(limited, 'fahrt'), { ids: [north], total: 1, next: null });
      assert.deepEqual(await seen(limited, 'süd'), { ids: [], total: 0, next: null });
    });
  }
});
