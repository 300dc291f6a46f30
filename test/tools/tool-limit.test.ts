import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { allowlistLimit } from '../../tools/core/access/allowlist.ts';
import { intersectToolLimits, isListed, type ToolLimit } from '../../tools/core/access/guarded-tool.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { rightsFingerprint, seesTool } from '../../tools/core/access/reach.ts';
import { listedTool } from '../../tools/core/registry/listed-tool.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });
const reader = principalOf({ type: 'api-key', id: 'key_reader', scopes: ['read'] });

function limited(principal: Principal, allowed: string[], denied: string[] = [], fixed: Fixed = {}): Principal {
  const limit = allowlistLimit('the test', allowed, denied);
  return { ...principal, tools: { ...limit, fixed: ({ name }) => fixed[name] } };
}
type Fixed = Record<string, Record<string, unknown>>;

const registry = await openTestRegistry();

const names = (principal: Principal) =>
  catalog.entries.filter(({ tool }) => isListed(tool) && seesTool(principal, tool)).map(({ tool }) => tool.name);

async function refusalOf(principal: Principal, tool: string, input: object) {
  return await registry.refused(principal, tool, input);
}

describe('a limit on tools', () => {
  it('holds whatever the rights, and the rights hold whatever the limit', async () => {
    assert.deepEqual(names(limited(admin, ['list_agents', 'create_api_key'])), ['list_agents', 'create_api_key']);
    assert.deepEqual(names(limited(reader, ['list_agents', 'create_agent', 'create_api_key'])), ['list_agents']);
    const { code, error, required, issues } = await refusalOf(limited(admin, ['list_agents']), 'list_skills', {});
    assert.deepEqual([code, error, required], ['forbidden', 'Insufficient permissions', undefined]);
    assert.deepEqual(issues, [{ path: '', message: 'list_skills is not among the tools of the test.' }]);
    const own = await refusalOf(limited(reader, ['create_agent']), 'create_agent', {});
    assert.equal(own.required?.scope, 'agents:write');
  });

  it('lets nothing through without an entry, and no admin tool by a glob', () => {
    assert.deepEqual(names(limited(admin, [])), []);
    const all = names(limited(admin, ['*']));
    assert.ok(all.includes('list_agents') && !all.includes('create_api_key') && !all.includes('update_settings'));
    assert.deepEqual(names(limited(admin, ['create_api*'])), []);
  });

  it('denies before it allows, admin tools by a glob too', () => {
    assert.deepEqual(names(limited(admin, ['*_skill'], ['delete_*', 'create_skill'])), ['get_skill', 'update_skill']);
    assert.deepEqual(names(limited(admin, ['update_settings', 'get_settings'], ['update_*'])), ['get_settings']);
  });

  it('names no tools beyond it in hints', async () => {
    const { error } = await refusalOf(limited(admin, ['list_agents']), 'list_skils', {});
    assert.ok(!error.includes('list_skills'), error);
  });

  it('composes: both hold', () => {
    const outer = allowlistLimit('one', ['list_*']);
    const inner: ToolLimit = { ...allowlistLimit('other', ['*_agents', '*_skills'], ['list_skills']) };
    const both = { ...admin, tools: intersectToolLimits(outer, inner) };
    assert.deepEqual(names(both), ['list_agents']);
    assert.notEqual(rightsFingerprint(both), rightsFingerprint({ ...admin, tools: outer }));
    assert.equal(intersectToolLimits(undefined, inner), inner);
  });
});

describe('fixed arguments', () => {
  const fixed = { list_agents: { status: 'paused' } };
  const caller = limited(admin, ['list_agents'], [], fixed);

  it('are in every call, and in its audit entry', async () => {
    await registry.call(admin, 'create_agent', { name: 'awake', displayName: 'Awake' });
    assert.deepEqual((await answerOf(caller, 'list_agents', {})).data, []);
    assert.equal((await answerOf(admin, 'list_agents', {})).data.length, 1);
    await registry.store.audit.flush();
    const { records } = await registry.store.audit.find({ tool: 'list_agents', limit: 5 });
    assert.ok(records.some(({ arguments: args }) => args.status === 'paused'));
  });

  it('are not the caller’s to give, not even as they are', async () => {
    for (const status of ['active', 'paused', null]) {
      const { code, issues } = await refusalOf(caller, 'list_agents', { status });
      assert.deepEqual([code, issues?.[0]?.path], ['invalid_input', 'status']);
    }
  });

  it('withhold what says more of them too, and say nothing of it', async () => {
    const models = limited(admin, ['invoke_agent'], [], { invoke_agent: { model: 'offline/rehearsal' } });
    const input = { agent: 'awake', input: 'Hi', fallbackModels: ['openai/gpt-5'] };
    const { code, issues } = await refusalOf(models, 'invoke_agent', input);
    assert.deepEqual([code, issues?.[0]?.path], ['invalid_input', 'fallbackModels']);
    const { tool } = catalog.get('invoke_agent') ?? assert.fail();
    const shown = (fixed: object) => Object.keys(listedTool(tool, { ...fixed }).inputSchema.properties ?? {});
    assert.ok(!shown({ model: 'offline/rehearsal' }).includes('fallbackModels'));
    assert.ok(shown({ agent: 'awake' }).includes('fallbackModels'));
  });

  // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
  async function answerOf(principal: Principal, tool: string, input: object): Promise<any> {
    return await registry.must(principal, tool, input);
  }
});

describe('a caller limited to some tools cannot hand out more', () => {
  const tools = ['list_agents', 'create_agent', 'create_flow', 'create_api_key', 'create_admin_user', 'create_report'];
  const caller = limited(admin, tools);
  const step = (tool: string) => ({ steps: [{ id: 'one', tool, arguments: {} }] });

  it('in the allowlist of an agent', async () => {
    await registry.must(caller, 'create_agent', { name: 'a', displayName: 'A', tools: ['list_agents'] });
    for (const entry of ['list_skills', 'list_*', '*']) {
      const { code } = await refusalOf(caller, 'create_agent', { name: 'b', displayName: 'B', tools: [entry] });
      assert.equal(code, 'forbidden');
    }
  });

  it('in the steps of a flow, and none of a tool with fixed arguments', async () => {
    assert.ok('output' in (await registry.call(caller, 'create_flow', { name: 'f', ...step('list_agents') })));
    assert.equal((await refusalOf(caller, 'create_flow', { name: 'g', ...step('list_skills') })).code, 'forbidden');
    const held = limited(admin, tools, [], { list_agents: { status: 'paused' } });
    assert.equal((await refusalOf(held, 'create_flow', { name: 'h', ...step('list_agents') })).code, 'forbidden');
  });

  it('in the query of a report', async () => {
    const query = { tool: 'list_skills', arguments: {} };
    assert.equal((await refusalOf(caller, 'create_report', { title: 'r', query })).code, 'forbidden');
  });

  it('in a key or an admin user, which know no limit on tools', async () => {
    for (const rights of [{ scopes: ['agents:read'] }, { scopes: [], grants: ['agent:read'] }]) {
      assert.equal((await refusalOf(caller, 'create_api_key', { name: 'k', ...rights })).code, 'forbidden');
    }
    assert.equal((await refusalOf(caller, 'create_admin_user', { email: 'a@example.com' })).code, 'forbidden');
  });
});
