import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askMcp, callsOf, makeKey, rest } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, codeOf, refused } = callsOf(server);

const agentNamed = (name: string, more: object = {}) => must('create_agent', { name, displayName: name, ...more });
const firstVersion = async (id: string) =>
  (await must('list_versions', { entityType: 'agent', entityId: id })).data.at(-1).id;

describe('a caller cannot reach beyond its rights', () => {
  it('by restoring a name that it may not give', async () => {
    const { id } = await agentNamed('first name');
    await must('update_agent', { id, name: 'second name' });
    const key = await makeKey(server, { grants: [`agent:write:${id}`, `agent:read:${id}`] });
    const versionId = await firstVersion(id);
    assert.equal(await codeOf('restore_version', { entityType: 'agent', entityId: id, versionId }, key), 'forbidden');
  });

  it('by reviving or restoring a deleted agent whose allowlist is beyond them', async () => {
    const { id } = await agentNamed('strong', { tools: ['create_api_key'] });
    await must('delete_agent', { id });
    const key = await makeKey(server, { scopes: ['write'] });
    const versionId = await firstVersion(id);
    assert.equal(await codeOf('update_agent', { id, status: 'active' }, key), 'forbidden');
    assert.equal(await codeOf('restore_version', { entityType: 'agent', entityId: id, versionId }, key), 'forbidden');
    assert.equal(await codeOf('update_agent', { id, status: 'active' }), 'ok');
  });

  it('by a grant on a name that a deleted agent had before', async () => {
    const old = await agentNamed('homonym', { instructions: 'secret' });
    await must('delete_agent', { id: old.id });
    const live = await agentNamed('homonym');
    const key = await makeKey(server, { grants: ['agent:read:homonym', 'agent:write:homonym'] });
    assert.equal(await codeOf('get_agent', { id: live.id }, key), 'ok');
    assert.equal(await codeOf('get_agent', { id: old.id }, key), 'forbidden');
    assert.equal(await codeOf('update_agent', { id: old.id, status: 'active' }, key), 'forbidden');
    assert.deepEqual((await must('list_agents', { status: 'deleted' }, key)).data, []);
  });

  it('by a grant whose encoded id is another name', async () => {
    await agentNamed('a b');
    const odd = await agentNamed('a%20b');
    const key = await makeKey(server, { grants: ['agent:read:a%20b'] });
    assert.equal(await codeOf('get_agent', { id: odd.id }, key), 'forbidden');
  });

  it('by a grant whose encoded id is *', async () => {
    const { id } = await agentNamed('behind a star');
    const named = await agentNamed('*');
    for (const star of ['%2A', '%2a']) {
      const key = await makeKey(server, { grants: ['key:write', `agent:read:${star}`] });
      assert.equal(await codeOf('get_agent', { id }, key), 'forbidden');
      assert.equal(await codeOf('get_agent', { id: named.id }, key), 'ok');
      assert.equal((await must('list_agents', {}, key)).data.length, 1);
      for (const grant of ['agent:read', 'agent:read:*', `agent:*:${star}`, `agent:read:${id}`]) {
        assert.equal(
          await codeOf('create_api_key', { name: 'k', scopes: [], grants: [grant] }, key),
          'forbidden',
          grant,
        );
      }
    }
  });

  it('by revoking a stronger key, though its own it may', async () => {
    const [strong, weak] = [
      await must('create_api_key', { name: 's', scopes: ['admin'] }),
      await must('create_api_key', { name: 'w', scopes: [], grants: ['key:write'] }),
    ];
    assert.equal(await codeOf('revoke_api_key', { id: strong.id }, weak.secret), 'forbidden');
    assert.equal(await codeOf('revoke_api_key', { id: weak.id }, weak.secret), 'ok');
  });
});

describe('names in grants', () => {
  it('may begin with any letter, percent-encoded, and a refusal recommends a grant that can be given', async () => {
    const agent = await agentNamed('émile');
    const none = await makeKey(server, { grants: ['agent:read:nobody'] });
    await refused('get_agent', { id: agent.id }, none);
    const key = await makeKey(server, { grants: [`agent:read:${encodeURIComponent('émile')}`] });
    assert.equal(await codeOf('get_agent', { id: agent.id }, key), 'ok');
  });
});

describe('a call without the right', () => {
  it('is forbidden whatever its input', async () => {
    const key = await makeKey(server, { grants: ['report:read'] });
    for (const [tool, input] of [
      ['get_agent', { id: '\ud800' }],
      ['get_agent', { id: 'é'.repeat(100_000) }],
      ['list_versions', { entityType: { toString: 1, valueOf: 1 } }],
      ['list_versions', { entityType: ['agent'] }],
    ] as const) {
      const answer = await refused(tool, input, key);
      assert.equal(answer.code, 'forbidden');
      assert.ok(JSON.stringify(answer).length < 1000);
    }
  });

  it('is audited with its arguments, also where its body was never valid', async () => {
    const key = await makeKey(server, { scopes: ['read'] });
    const ask = (body: unknown, id: string, as = key) =>
      rest(server, 'POST', '/api/v1/agents', { key: as, body, headers: { 'X-Request-Id': id } });
    assert.equal((await ask('{', 'refused-broken')).status, 403);
    assert.equal((await ask({ name: 'x' }, 'refused-whole')).status, 403);
    assert.equal((await ask('{', 'broken', server.adminKey)).status, 400);
    const { data } = await must('list_audit_entries', { limit: 10 });
    const of = (id: string) => data.find(({ requestId }: { requestId: string }) => requestId === id);
    assert.deepEqual(
      [of('refused-broken').outcome, of('refused-whole').arguments, of('broken').outcome],
      ['denied', { name: 'x' }, 'invalid'],
    );
  });
});

describe('names that are no tool', () => {
  it('are audited cut, under one label', async () => {
    const params = { name: `nothing ${'x'.repeat(100_000)}` };
    await askMcp(server, server.adminKey, 'tools/call', params);
    const { data } = await must('list_audit_entries', { limit: 1 });
    assert.equal(data[0].tool, '(unknown)');
    assert.equal(data[0].arguments.name.length, 100);
  });
});
