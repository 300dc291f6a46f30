import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeKey, mustCall, rest } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';

const server = serverForTests();

interface Listing {
  /** Of its list over REST, where it has one. */
  readonly path?: string;
  readonly list: string;
  readonly create: string;
  readonly member: string;
  readonly more: object;
  /** The resource in grants. */
  readonly resource: string;
}

const listings: readonly Listing[] = [
  {
    path: '/api/v1/agents/flows',
    list: 'list_flows',
    create: 'create_flow',
    member: 'name',
    more: {},
    resource: 'flow',
  },
  {
    path: '/api/v1/threads',
    list: 'list_threads',
    create: 'create_thread',
    member: 'title',
    more: {},
    resource: 'thread',
  },
  {
    list: 'list_capsules',
    create: 'create_capsule',
    member: 'name',
    more: { allowedTools: ['list_agents'] },
    resource: 'capsule',
  },
  { list: 'list_projects', create: 'create_project', member: 'name', more: {}, resource: 'project' },
  {
    path: '/api/v1/platform-users',
    list: 'list_admin_users',
    create: 'create_admin_user',
    member: 'email',
    more: {},
    resource: 'admin-user',
  },
];

describe('a list by the exact value of a member', () => {
  for (const { path, list, create, member, more, resource } of listings) {
    it(`${list} {${member}} shows those, counts them, and only those that the caller may see`, async () => {
      const values = member === 'email' ? ['Ada+1@example.com', 'ada@example.com'] : ['Ada & Eve', 'Ada'];
      const made: string[] = [];
      for (const value of values) {
        const { id } = await mustCall(server, server.adminKey, create, { [member]: value, ...more });
        made.push(id);
      }
      const seen = async (key: string, value: string) => {
        const page = await mustCall(server, key, list, { [member]: value, includeTotal: true });
        const query = `${member}=${encodeURIComponent(value)}&includeTotal=true`;
        const { body } = path ? await rest(server, 'GET', `${path}?${query}`, { key }) : { body: page };
        assert.deepEqual(body, page);
        return [page.data.map(({ id }: { id: string }) => id), page.total];
      };
      assert.deepEqual(await seen(server.adminKey, values[0] ?? ''), [[made[0]], 1]);
      assert.deepEqual(await seen(server.adminKey, values[1] ?? ''), [[made[1]], 1]);
      assert.deepEqual(await seen(server.adminKey, member === 'email' ? 'a@example.com' : 'A'), [[], 0]);
      const limited = await makeKey(server, { grants: [`${resource}:read:${made[0]}`] });
      assert.deepEqual(await seen(limited, values[0] ?? ''), [[made[0]], 1]);
      assert.deepEqual(await seen(limited, values[1] ?? ''), [[], 0]);
    });
  }
});
