import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Principal } from '../../tools/core/access/principal.ts';
import { outcomeOf } from '../support/calls.ts';
import { rounds } from '../support/full.ts';
import { pluck } from '../support/pluck.ts';
import { fc } from '../support/property.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

/**
 * Every kind of caller x visibility x role x operation. What is expected is written down here once more from the rules
 * of the contract, section 5 "Thread access", without a look at the code.
 */
type Role = 'none' | 'viewer' | 'editor' | 'owner';
type Visibility = 'workspace' | 'restricted';

const admin = principalOf({ type: 'session', id: 'ses_admin', ownerId: 'usr_root', scopes: ['*'] });

const registry = await openTestRegistry();
const { must } = registry;
const { user, key, agent } = await registry.store.transaction(async (tx) => ({
  user: await tx.adminUsers.insert({ email: 'u@example.com', role: 'member', isActive: true }),
  key: await tx.apiKeys.insert({
    name: 'k',
    prefix: '12345678',
    hash: '0'.repeat(64),
    scopes: [],
    ownerId: 'usr_root',
    createdBy: 'usr_root',
  }),
  agent: await tx.agents.insert({
    name: 'a',
    displayName: 'A',
    status: 'active',
    maxSteps: 1,
    memoryPolicy: { remember: false, maxInjected: 0 },
  }),
}));
const capsule = await must(admin, 'create_capsule', { name: 'one' });
const other = await must(admin, 'create_capsule', { name: 'other' });
const scopes = ['write'];
const callers: Readonly<Record<string, Principal>> = {
  session: principalOf({ type: 'session', id: 'ses_1', ownerId: user.id, scopes }),
  'session with full access': principalOf({ type: 'session', id: 'ses_2', ownerId: user.id, scopes: ['*'] }),
  'api key': principalOf({ type: 'api-key', id: key.id, ownerId: user.id, scopes }),
  'api key with grants': principalOf({ type: 'api-key', id: key.id, ownerId: user.id, grants: ['thread'] }),
  'api key with scope admin': principalOf({ type: 'api-key', id: key.id, ownerId: user.id, scopes: ['admin'] }),
  'api key with grant *': principalOf({ type: 'api-key', id: key.id, ownerId: user.id, grants: ['*'] }),
  'api key with grants and scope admin': principalOf({
    type: 'api-key',
    id: key.id,
    ownerId: user.id,
    scopes: ['admin'],
    grants: ['thread'],
  }),
  capsule: principalOf({ type: 'capsule', id: capsule.id, ownerId: user.id, scopes }),
  agent: principalOf({ type: 'agent', id: agent.id, ownerId: user.id, scopes }),
  flow: principalOf({ type: 'flow', id: 'flw_1', ownerId: user.id, scopes }),
};

const names = [
  'session',
  'session with full access',
  'api key',
  'api key with grants',
  'api key with scope admin',
  'api key with grant *',
  'api key with grants and scope admin',
  'capsule',
  'agent',
  'flow',
];
const fullAccess = new Set(['session with full access', 'api key with scope admin', 'api key with grant *']);
/** They act for somebody; entries do not widen that. */
const actors = new Set(['agent', 'flow']);

/** The entry that speaks of a caller, where entries can. */
function entryFor(name: string) {
  const { type, id, ownerId } = callers[name] ?? assert.fail();
  if (type === 'flow') return undefined;
  return type === 'session' ? { type: 'user', id: ownerId } : { type, id };
}

function expectedRole(name: string, visibility: Visibility, role: Role): Role {
  if (fullAccess.has(name)) return 'owner';
  if (role === 'none' || actors.has(name)) return visibility === 'workspace' ? 'editor' : 'none';
  return role;
}

/** Who may do what; `delete_thread` comes last because it ends the thread. */
const operations: readonly { tool: string; roles: readonly Role[]; input?: (context: Context) => object }[] = [
  { tool: 'get_thread', roles: ['viewer', 'editor', 'owner'] },
  { tool: 'list_messages', roles: ['viewer', 'editor', 'owner'] },
  { tool: 'get_thread_access', roles: ['viewer', 'editor', 'owner'] },
  { tool: 'fork_thread', roles: ['viewer', 'editor', 'owner'] },
  { tool: 'update_thread', roles: ['editor', 'owner'], input: () => ({ title: 'renamed' }) },
  {
    tool: 'add_thread_access',
    roles: ['owner'],
    input: () => ({ entries: [{ principal: { type: 'capsule', id: other.id }, role: 'viewer' }] }),
  },
  { tool: 'update_thread_access', roles: ['owner'], input: ({ visibility }) => ({ visibility }) },
  {
    tool: 'remove_thread_access',
    roles: ['owner'],
    input: () => ({ principalType: 'capsule', principalId: other.id }),
  },
  { tool: 'delete_thread', roles: ['owner'] },
];

interface Context {
  readonly visibility: Visibility;
}

/** Every id the caller finds by walking the pages. */
async function listed(principal: Principal): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { data: { id: string }[]; nextCursor: string | null; total: number } = await must(
      principal,
      'list_threads',
      { limit: 7, includeTotal: true, ...(cursor && { cursor }) },
    );
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.nextCursor;
    if (!cursor) assert.equal(page.total, ids.length, 'the total counts what can be listed');
  } while (cursor);
  return ids;
}

describe('thread access', () => {
  for (const name of names) {
    for (const visibility of ['workspace', 'restricted'] as const) {
      for (const role of ['none', 'viewer', 'editor', 'owner'] as const) {
        it(`${name}, ${visibility} thread, entry ${role}`, async () => {
          const caller = callers[name] ?? assert.fail();
          const input = { title: 't', visibility, messages: [{ role: 'user', content: 'hello' }] };
          const { id } = await must(admin, 'create_thread', input);
          const principal = entryFor(name);
          if (role !== 'none' && principal)
            await must(admin, 'add_thread_access', { id, entries: [{ principal, role }] });
          const own = expectedRole(name, visibility, principal ? role : 'none');

          const ids = await listed(caller);
          assert.equal(ids.includes(id), own !== 'none', 'list_threads');
          const stats = await must(caller, 'get_thread_stats');
          assert.equal(stats.threads, ids.length, 'get_thread_stats counts what can be listed');
          for (const { tool, roles, input } of operations) {
            const answer = await registry.call(caller, tool, { id, ...input?.({ visibility }) });
            const expected = own === 'none' ? 'not_found' : roles.includes(own) ? 'ok' : 'forbidden';
            assert.equal(outcomeOf(answer), expected, tool);
          }
        });
      }
    }
  }

  it('hides as if the thread did not exist, to the letter', async () => {
    const { id } = await must(admin, 'create_thread', { title: 'hidden', visibility: 'restricted' });
    const caller = callers['api key'] ?? assert.fail();
    for (const { tool, input } of operations) {
      const [hidden, absent] = [
        await registry.call(caller, tool, { id, ...input?.({ visibility: 'restricted' }) }),
        await registry.call(caller, tool, { id: 'thr_absent', ...input?.({ visibility: 'restricted' }) }),
      ];
      assert.deepEqual(
        JSON.parse(JSON.stringify(hidden).replaceAll(id, 'ID')),
        JSON.parse(JSON.stringify(absent).replaceAll('thr_absent', 'ID')),
      );
    }
  });

  it('names the role that is missing', async () => {
    const { id } = await must(admin, 'create_thread', { title: 'shared' });
    const answer = await registry.refused(callers['api key'] ?? assert.fail(), 'delete_thread', { id });
    assert.equal(answer.error, 'Insufficient permissions');
    assert.deepEqual(answer.required, { role: 'owner' });
    assert.match(answer.issues?.[0]?.message ?? '', /You are editor of this thread/);
  });

  it('is narrowed further by grants for single threads', async () => {
    const [one, two, hidden] = [
      await must(admin, 'create_thread', { title: 'one', messages: [{ role: 'user', content: '1' }] }),
      await must(admin, 'create_thread', { title: 'two', messages: [{ role: 'user', content: '2' }] }),
      await must(admin, 'create_thread', {
        title: 'three',
        visibility: 'restricted',
        messages: [{ role: 'user', content: '3' }],
      }),
    ];
    const grants = [`thread:read:${one.id}`, `thread:read:${hidden.id}`];
    const caller = principalOf({ type: 'api-key', id: 'key_narrow', grants });
    assert.deepEqual(await listed(caller), [one.id]);
    const stats = await must(caller, 'get_thread_stats');
    assert.deepEqual([stats.threads, stats.messages], [1, 1]);
    assert.equal(outcomeOf(await registry.call(caller, 'get_thread', { id: two.id })), 'forbidden');
    assert.equal(outcomeOf(await registry.call(caller, 'get_thread', { id: hidden.id })), 'not_found');
    assert.equal(outcomeOf(await registry.call(caller, 'update_thread', { id: one.id, title: 'x' })), 'forbidden');
  });

  it('lets a cursor show nothing that was hidden since', async () => {
    const own = await openTestRegistry();
    const create = async (title: string) => {
      const answer = await own.call(admin, 'create_thread', { title });
      return 'output' in answer ? String(answer.output.id) : assert.fail();
    };
    const [oldest = '', middle = ''] = [await create('1'), await create('2'), await create('3')];
    const caller = principalOf({ type: 'api-key', id: 'key_1', scopes: ['read'] });
    const first = await own.call(caller, 'list_threads', { limit: 1 });
    await own.call(admin, 'update_thread_access', { id: middle, visibility: 'restricted' });
    const cursor = 'output' in first && first.output.nextCursor;
    const rest = await own.call(caller, 'list_threads', { limit: 5, cursor });
    const data = 'output' in rest ? (rest.output.data as { id: string }[]) : assert.fail(); // a page of threads
    assert.deepEqual(pluck(data, 'id'), [oldest]);
  });
});

describe('any sequence of access changes', () => {
  const people = ['session', 'api key', 'capsule', 'agent', 'flow'];
  const step = fc.record({
    by: fc.constantFrom(...people, 'admin'),
    thread: fc.nat(2),
    change: fc.oneof(
      fc.record({
        kind: fc.constant('share'),
        who: fc.constantFrom(...people),
        role: fc.constantFrom('viewer', 'editor', 'owner'),
      }),
      fc.record({ kind: fc.constant('unshare'), who: fc.constantFrom(...people) }),
      fc.record({ kind: fc.constant('show'), visibility: fc.constantFrom('workspace', 'restricted') }),
    ),
  });
  interface Model {
    readonly id: string;
    visibility: Visibility;
    readonly roles: Map<string, Role>;
  }

  function modelRole(model: Model, name: string): Role {
    return name === 'admin' ? 'owner' : expectedRole(name, model.visibility, model.roles.get(name) ?? 'none');
  }

  /** Makes the change and follows it in the model, by the rules; returns the code that is expected. */
  function follow(model: Model, { by, change }: { by: string; change: Record<string, string> }): string {
    const role = modelRole(model, by);
    if (role === 'none') return 'not_found';
    if (role !== 'owner') return 'forbidden';
    if (change.kind === 'show') {
      model.visibility = change.visibility as Visibility; // as generated
      return 'ok';
    }
    const next = new Map(model.roles);
    if (change.kind === 'share')
      next.set(change.who ?? '', change.role as Role); // as generated
    else next.delete(change.who ?? '');
    if (![...next.values()].includes('owner')) return 'conflict';
    model.roles.clear();
    for (const [who, given] of next) model.roles.set(who, given);
    return 'ok';
  }

  it('shows a thread to those whom the rules name, and to nobody else', async () => {
    const sharable = people.filter((name) => name !== 'flow');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        const models: Model[] = [];
        for (const name of ['session', 'api key', 'capsule']) {
          const { id } = await must(callers[name] ?? admin, 'create_thread', {
            title: 't',
            messages: [{ role: 'user', content: 'x' }],
          });
          models.push({ id, visibility: 'workspace', roles: new Map([[name, 'owner']]) });
        }
        for (const { by, thread, change } of steps) {
          if ('who' in change && !sharable.includes(change.who)) continue;
          const model = models[thread] ?? assert.fail();
          const principal = 'who' in change ? entryFor(change.who) : undefined;
          const [tool, input] =
            change.kind === 'share' && 'role' in change
              ? ['add_thread_access', { entries: [{ principal, role: change.role }] }]
              : change.kind === 'unshare'
                ? ['remove_thread_access', { principals: [principal] }]
                : ['update_thread_access', { visibility: 'visibility' in change ? change.visibility : '' }];
          const answer = await registry.call(callers[by] ?? admin, tool as string, {
            id: model.id,
            ...(input as object),
          });
          assert.equal(outcomeOf(answer), follow(model, { by, change }), `${by} ${JSON.stringify(change)}`);
        }
        for (const name of people) {
          const caller = callers[name] ?? assert.fail();
          const ids = new Set(await listed(caller));
          for (const model of models) {
            const seen = modelRole(model, name) !== 'none';
            assert.equal(ids.has(model.id), seen, `${name} in the list`);
            for (const tool of ['get_thread', 'list_messages', 'get_thread_access']) {
              assert.equal(
                outcomeOf(await registry.call(caller, tool, { id: model.id })),
                seen ? 'ok' : 'not_found',
                tool,
              );
            }
          }
          const stats = await must(caller, 'get_thread_stats');
          assert.equal(stats.threads, ids.size);
        }
        for (const { id } of models) await must(admin, 'delete_thread', { id });
      }),
      // A run makes about 90 calls.
      { numRuns: rounds(12, 40) },
    );
  });
});
