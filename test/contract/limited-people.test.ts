import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersonAccess } from '../../resources/admin-user.ts';
import { catalog } from '../../tools/catalog.ts';
import { credentialStatus } from '../../tools/core/access/credential-status.ts';
import { callsOf, callTool, makeKey, rest } from '../support/calls.ts';
import { capsuleClients } from '../support/capsules.ts';
import { pluck } from '../support/pluck.ts';
import { serverForTests } from '../support/server.ts';
import { signIn, statusWith } from '../support/sign-in.ts';
import { openStream } from '../support/stream.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';
import { inputFor } from './inputs.ts';

const server = serverForTests();
const { must, refused } = callsOf(server);
const { make, listed, call } = capsuleClients(() => server);

/** Tools that every person may call for what is their own, whatever their limit. */
const own = catalog.entries.filter(({ tool }) => tool.own && !tool.doorOnly).map(({ tool }) => tool.name);

let made = 0;
async function person(access?: PersonAccess) {
  made += 1;
  const email = `limited-${made}@example.com`;
  const { id } = await must('create_admin_user', { email, ...(access && { access }) });
  const limit = (next: PersonAccess | null) => must('update_admin_user', { id, access: next });
  return { id, email, limit, session: await signIn(server, email) };
}

async function toolsOf(key: string): Promise<string[]> {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const answer = await rest(server, 'POST', '/api/v1/mcp', { key, body });
  return answer.body.result.tools.map(({ name }: { name: string }) => name).sort();
}

async function isForbidden(key: string, name: string): Promise<boolean> {
  const answer = await callTool(server, key, name, inputFor(name));
  return 'error' in answer && answer.error.code === 'forbidden';
}

const accesses: Readonly<Record<string, PersonAccess>> = {
  'the scope read': { scopes: ['read'] },
  'two finer scopes': { scopes: ['agents:read', 'skills:write'] },
  'grants for one kind': { scopes: [], grants: ['agent:read', 'skill'] },
  'a grant for one record': { scopes: ['admin'], grants: ['agent:read:agt_none'] },
};

for (const [what, access] of Object.entries(accesses)) {
  describe(`a person limited to ${what}`, () => {
    it('sees and may call what a key of these rights does, and manages what is their own', async () => {
      const { session } = await person(access);
      const key = await makeKey(server, access);
      const byKey = await toolsOf(key);
      assert.deepEqual(await toolsOf(session), [...new Set([...byKey, ...own])].sort());
      for (const { tool } of catalog.entries) {
        if (tool.doorOnly || tool.discovery || own.includes(tool.name)) continue;
        assert.equal(await isForbidden(session, tool.name), await isForbidden(key, tool.name), tool.name);
      }
    });

    it('has keys, capsules and flows that can no more, from the next request on, and as much again without it', async () => {
      const { id, email, session, limit } = await person();
      const key = (await must('create_api_key', { name: 'all', scopes: ['admin'] }, session)).secret;
      const capsule = await make({ allowedTools: ['*'] });
      await writing(server.store).capsules.update(capsule.id, { ownerId: id });
      const before = [await toolsOf(session), await toolsOf(key), (await listed(capsule)).sort()] as const;
      await limit(access);
      const reference = await toolsOf(await makeKey(server, access));
      assert.deepEqual(await toolsOf(key), reference);
      assert.deepEqual(
        (await listed(capsule)).sort(),
        before[2].filter((name) => reference.includes(name)),
      );
      assert.equal((await call(capsule, 'create_document', { title: 'x', content: '' })).code, 'forbidden');
      assert.equal((await refused('create_document', { title: 'x', content: '' }, key)).code, 'forbidden');
      for (const acting of [
        { type: 'session', id, name: email },
        { type: 'api-key', id: (await must('list_api_keys', { ownerId: id })).data[0].id, name: 'all' },
        { type: 'capsule', id: capsule.id, name: 'test' },
      ]) {
        const standing = await credentialStatus(acting, server.store, { catalog, now: new Date() });
        assert.ok(typeof standing === 'object' && !standing.rights.isAdmin, acting.type);
        const needs = [{ resource: 'document', op: 'write' }];
        assert.equal(standing.rights.allows({ scope: 'documents:write', needs }), false, acting.type);
      }
      await limit(null);
      assert.deepEqual([await toolsOf(session), await toolsOf(key), (await listed(capsule)).sort()], before);
    });
  });
}

describe('access of an admin user', () => {
  it('is set by those with full access alone, for others, and never for the last owner without one', async () => {
    const { id, session } = await person();
    const weak = await makeKey(server, { grants: ['admin-user'] });
    const access = { scopes: ['read'] };
    assert.equal((await refused('update_admin_user', { id, access }, weak)).code, 'forbidden');
    assert.equal((await refused('create_admin_user', { email: 'w@example.com', access }, weak)).code, 'forbidden');
    const ending = await makeKey(server, {
      scopes: ['admin'],
      expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    });
    assert.equal((await refused('update_admin_user', { id, access }, ending)).code, 'forbidden');
    await must('update_admin_user', { id, name: 'Same limit' }, ending);
    assert.match((await refused('update_admin_user', { id, access }, session)).error, /their own limit/);
    const [first] = (await must('list_admin_users', { limit: 100 })).data.filter(
      ({ role }: { role: string }) => role === 'owner',
    );
    const second = await must('create_admin_user', { email: 'second@example.com', role: 'owner' });
    const asSecond = await signIn(server, 'second@example.com');
    await must('update_admin_user', { id: first.id, access }, asSecond);
    assert.deepEqual(await toolsOf(server.adminKey), await toolsOf(await readerOf(asSecond)));
    const third = await must('create_admin_user', { email: 'third@example.com', role: 'member' }, asSecond);
    const asThird = await signIn({ ...server, adminKey: await adminOf(asSecond) }, 'third@example.com');
    assert.equal((await refused('update_admin_user', { id: second.id, access }, asThird)).code, 'forbidden');
    for (const [tool, input] of [
      ['deactivate_admin_user', {}],
      ['update_admin_user', { role: 'member' }],
    ] as const) {
      assert.equal(
        (await refused(tool, { id: second.id, ...input }, asThird)).code,
        tool === 'deactivate_admin_user' ? 'conflict' : 'forbidden',
      );
    }
    await must('update_admin_user', { id: first.id, access: null }, asSecond);
    await must('deactivate_admin_user', { id: second.id });
    await must('deactivate_admin_user', { id: third.id });
  });

  it('names scopes and grants that nobody can have', async () => {
    const { id } = await person();
    for (const [access, path] of [
      [{ scopes: ['red'] }, 'access.scopes[0]'],
      [{ scopes: [], grants: ['agent:fly'] }, 'access.grants[0]'],
      [{ scopes: [] }, 'access.scopes'],
    ] as const) {
      const { code, issues } = await refused('update_admin_user', { id, access });
      assert.deepEqual([code, issues?.[0]?.path], ['invalid_input', path]);
    }
    assert.deepEqual((await must('update_admin_user', { id, access: { scopes: ['read'], grants: [] } })).access, {
      scopes: ['read'],
    });
  });

  it('leaves sessions and streams open, and no more rights in them', async () => {
    const { session, limit } = await person();
    const stream = await openStream(server, session);
    await limit({ scopes: ['agents:read'] });
    assert.equal(await statusWith(server, session), 200);
    assert.equal((await refused('list_skills', {}, session)).code, 'forbidden');
    const seen = await Promise.race([stream.ended, until(async () => (await toolsOf(session)).length < 40)]);
    assert.notEqual(seen, 'ended');
  });
});

describe('keys of one’s own', () => {
  it('are listed, made, rotated and revoked by a person who may do little else', async () => {
    const { id, session } = await person({ scopes: ['agents:read', 'skills:write'] });
    const other = await must('create_api_key', { name: 'of another', scopes: ['read'] });
    const key = await must('create_api_key', { name: 'own', scopes: ['agents:read'] }, session);
    assert.equal(key.ownerId, id);
    const { data } = await must('list_api_keys', {}, session);
    assert.deepEqual(pluck(data, 'name'), ['own']);
    const turned = await must('rotate_api_key', { id: key.id }, session);
    assert.deepEqual([await statusWith(server, key.secret), await statusWith(server, turned.secret)], [401, 200]);
    await must('revoke_api_key', { id: key.id }, session);
    assert.equal(await statusWith(server, turned.secret), 401);
    for (const tool of ['rotate_api_key', 'revoke_api_key'])
      assert.equal((await refused(tool, { id: other.id }, session)).code, 'not_found');
  });

  it('have no right that the person lacks, by scopes or by grants', async () => {
    const { session } = await person({ scopes: ['agents:read', 'skills:write'] });
    const create = (rights: object) =>
      callTool(server, session, 'create_api_key', { name: 'k', scopes: [], ...rights });
    const codeOf = async (rights: object) => {
      const answer = await create(rights);
      return 'error' in answer ? answer.error.code : 'ok';
    };
    for (const rights of [{ scopes: ['agents:read'] }, { grants: ['agent:read:agt_1'] }, { grants: ['skill:write'] }])
      assert.equal(await codeOf(rights), 'ok', JSON.stringify(rights));
    for (const rights of [{ scopes: ['read'] }, { scopes: ['admin'] }, { grants: ['agent'] }, { grants: ['*'] }])
      assert.equal(await codeOf(rights), 'forbidden', JSON.stringify(rights));
    const writer = await person({ scopes: ['write'] });
    assert.ok((await must('create_api_key', { name: 'k', scopes: ['read'] }, writer.session)).secret);
    const granted = await person({ scopes: [], grants: ['agent:read'] });
    assert.equal((await refused('create_api_key', { name: 'k', scopes: ['read'] }, granted.session)).code, 'forbidden');
    const narrow = { name: 'k', scopes: [], grants: ['agent:read:agt_1'] };
    assert.ok((await must('create_api_key', narrow, granted.session)).secret);
  });

  it('are no more than the person in the words of explain_access', async () => {
    const { session, email, limit } = await person();
    const key = await must('create_api_key', { name: 'explained', scopes: ['admin'] }, session);
    await limit({ scopes: ['read'] });
    const asked = { keyId: key.id, tool: 'create_skill' };
    const { verdict, checks } = await must('explain_access', asked);
    assert.equal(verdict, 'denied');
    assert.match(checks.at(-1).rule, new RegExp(`${email}, has a limit\\. No scope satisfies`));
  });
});

const readerOf = async (session: string) =>
  (await must('create_api_key', { name: 'reads', scopes: ['read'] }, session)).secret as string;
const adminOf = async (session: string) =>
  (await must('create_api_key', { name: 'admin', scopes: ['admin'] }, session)).secret as string;
