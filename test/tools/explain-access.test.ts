import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, call, codeOf, refused } = callsOf(server);
const agent = { name: 'ada', displayName: 'Ada' };
const agentId: string = (await must('create_agent', agent)).id;

interface Rights {
  readonly scopes?: string[];
  readonly grants?: string[];
  readonly expiresAt?: string;
}

const makeKey = (rights: Rights) => must('create_api_key', { name: 'test', scopes: [], ...rights });

async function explain(rights: Rights, tool: string, input?: object) {
  const { id } = await makeKey(rights);
  return must('explain_access', { keyId: id, tool, ...(input && { arguments: input }) });
}

const rightIn = ({ checks }: { checks: { check: string; rule: string }[] }) =>
  checks.find(({ check }) => check === 'right')?.rule;

describe('explain_access', () => {
  it('names the scope that decides, and the one that would', async () => {
    const allowed = await explain({ scopes: ['skills:read', 'read'] }, 'list_agents', {});
    assert.equal(allowed.verdict, 'allowed');
    assert.equal(rightIn(allowed), 'Scope "read" satisfies "agents:read".');
    assert.equal('required' in allowed, false);
    const denied = await explain({ scopes: ['read'] }, 'create_agent', { name: 'x', displayName: 'X' });
    assert.equal(denied.verdict, 'denied');
    assert.equal(rightIn(denied), 'No scope satisfies "agents:write"; there are: "read".');
    assert.deepEqual(denied.required, { scope: 'agents:write', grant: 'agent:write' });
  });

  it('names the grant that decides, by id or name, and the nearest where none does', async () => {
    const byName = await explain({ grants: ['agent:read:ada'] }, 'get_agent', { id: agentId });
    assert.equal(byName.verdict, 'allowed');
    assert.equal(rightIn(byName), `Grant "agent:read:ada" covers "agent:read:${agentId}".`);
    const other = await explain({ grants: ['agent:read:ada'] }, 'get_agent', { id: 'agt_other' });
    assert.equal(other.verdict, 'denied');
    assert.equal(rightIn(other), 'No grant covers "agent:read:agt_other"; nearest: "agent:read:ada".');
    const none = await explain({ scopes: ['admin'], grants: ['skill'] }, 'get_agent', { id: agentId });
    assert.match(rightIn(none) ?? '', /scopes do not count/);
  });

  it('says that a list is narrowed', async () => {
    const { verdict, checks } = await explain({ grants: ['agent:read:ada'] }, 'list_agents', {});
    assert.equal(verdict, 'allowed');
    assert.match(rightIn({ checks }) ?? '', /Narrowed to the records of "agent:read:ada"/);
  });

  it('judges the tool as a whole where no arguments are given', async () => {
    const depends = await explain({ grants: ['agent:read:ada'] }, 'get_agent');
    assert.equal(depends.verdict, 'depends');
    assert.equal((await explain({ scopes: ['read'] }, 'get_agent')).verdict, 'allowed');
    assert.equal((await explain({ grants: ['skill'] }, 'get_agent')).verdict, 'denied');
  });

  it('explains that a key opens nothing any more', async () => {
    const { id } = await makeKey({ scopes: ['read'] });
    await must('revoke_api_key', { id });
    const input = { keyId: id, tool: 'list_agents', arguments: {} };
    const { verdict, checks } = await must('explain_access', input);
    assert.equal(verdict, 'denied');
    assert.match(checks[0].rule, /was revoked at/);
  });

  it('says the same as the call itself, for every kind of right', async () => {
    const worlds: Rights[] = [
      { scopes: ['read'] },
      { scopes: ['write'] },
      { scopes: ['admin'] },
      { scopes: ['skills:read'] },
      { grants: ['*'] },
      { grants: ['agent'] },
      { grants: ['agent:read:ada'] },
      { grants: ['agent:write', 'skill:read'] },
    ];
    const calls: [string, object][] = [
      ['get_agent', { id: agentId }],
      ['get_agent', { id: 'agt_other' }],
      ['list_agents', {}],
      ['update_agent', { id: agentId, description: 'x' }],
      ['list_skills', {}],
      ['get_settings', {}],
      ['list_versions', { entityType: 'agent', entityId: agentId }],
    ];
    for (const rights of worlds) {
      const { id: keyId, secret } = await makeKey(rights);
      for (const [tool, input] of calls) {
        const said = await must('explain_access', { keyId, tool, arguments: input });
        const answer = await call(tool, input, secret);
        const refused = 'error' in answer && answer.error.code === 'forbidden';
        const message = `${JSON.stringify(rights)} ${tool} ${JSON.stringify(input)}`;
        assert.equal(said.verdict, refused ? 'denied' : 'allowed', message);
        if (refused) assert.deepEqual(said.required, answer.error.required, message);
      }
    }
  });

  it('explains by which entry a capsule has a tool, and what keeps it from another', async () => {
    const lists = { allowedTools: ['get_*', 'list_agents', 'update_settings'], deniedTools: ['get_skill'] };
    const constraints = { list_agents: { status: 'active' } };
    const capsule = await must('create_capsule', { name: 'c', ...lists, constraints });
    const ask = async (tool: string, input?: object) => {
      const asked = { capsuleId: capsule.id, tool, ...(input && { arguments: input }) };
      const { verdict, checks } = await must('explain_access', asked);
      return `${verdict}: ${checks.at(-1).rule}`;
    };
    const draft = await must('explain_access', { capsuleId: capsule.id, tool: 'get_agent' });
    assert.match(draft.checks[0].rule, /draft/);
    await must('update_capsule', { id: capsule.id, status: 'live' });
    assert.equal(await ask('get_report'), 'allowed: get_report, by the entry get_*: allowed by a glob.');
    const narrowed = 'get_agent is limited to the records that the arguments fixed for list_agents (status) leave.';
    assert.equal(await ask('get_agent'), `depends: ${narrowed}`);
    const { id } = await must('create_agent', { name: 'held', displayName: 'Held' });
    assert.equal(await ask('get_agent', { id }), `allowed: ${narrowed}`);
    await must('update_agent', { id, status: 'paused' });
    assert.equal(await ask('get_agent', { id }), `denied: ${narrowed}`);
    assert.match(await ask('get_skill'), /^denied: get_skill, by the entry get_\*: denied by get_skill/);
    assert.equal(await ask('create_agent'), 'denied: No entry matches create_agent.');
    assert.match(await ask('list_agents', { limit: 1 }), /^allowed/);
    assert.match(await ask('list_agents', { status: 'paused' }), /^denied: status: is fixed by the capsule/);
  });

  it('takes one of keyId and capsuleId', async () => {
    for (const input of [{}, { keyId: 'key_x', capsuleId: 'cap_x' }]) {
      assert.match(
        (await refused('explain_access', { ...input, tool: 'get_agent' })).error,
        /either keyId or capsuleId/,
      );
    }
  });

  it('refuses a key and a tool that do not exist, the tool with similar names', async () => {
    assert.equal(await codeOf('explain_access', { keyId: 'key_none', tool: 'get_agent' }), 'not_found');
    const { id: keyId } = await makeKey({ scopes: ['read'] });
    assert.match((await refused('explain_access', { keyId, tool: 'get_agnt' })).error, /get_agent/);
  });
});
