import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, callTool, makeCapsule, makeKey, rest } from '../../support/calls.ts';
import { startTestServer } from '../../support/server.ts';
import { connectHttp, errorOfCall, guestNames, startUpstream, toolCalled } from '../../support/upstream.ts';

const WHOLE = 'tool:call:gh/*';

const [server, fake] = await Promise.all([startTestServer(), startUpstream(toolCalled('find'), toolCalled('drop'))]);
await connectHttp(server, fake.url, { name: 'gh' });
await connectHttp(server, fake.url, { name: 'gl' });

describe('a grant for one integration', () => {
  it('shows and allows the tools of that one at every door', async () => {
    const key = await makeKey(server, { grants: [WHOLE] });
    assert.deepEqual(await guestNames(server, key), ['gh__find', 'gh__drop']);
    assert.ok('output' in (await callTool(server, key, 'gh__find')));
    assert.ok('output' in (await callTool(server, key, 'call_tool', { name: 'gh__drop' })));
    const refused = await errorOfCall(server, 'gl__find', {}, key);
    assert.deepEqual([refused.code, refused.required.grant], ['forbidden', 'tool:call:gl/find']);
    const { refused: fails } = callsOf(server);
    assert.equal((await fails('call_tool', { name: 'gl__find' }, key)).code, 'forbidden');
    assert.equal((await fails('describe_tool', { name: 'gl__find' }, key)).code, 'forbidden');
    assert.equal((await rest(server, 'GET', '/api/v1/agents', { key })).status, 403);
  });

  it('reaches tools that come later', async () => {
    const key = await makeKey(server, { grants: [WHOLE] });
    const { must } = callsOf(server);
    const { data } = await must('list_integrations');
    fake.tools.push(toolCalled('later'));
    for (const { id } of data) await must('refresh_integration', { id, accept: true });
    assert.deepEqual(await guestNames(server, key), ['gh__find', 'gh__drop', 'gh__later']);
  });

  it('hands out what is within it and nothing beyond', async () => {
    const { must, refused } = callsOf(server);
    const maker = await makeKey(server, { grants: [WHOLE, 'key:write', 'capsule:write', 'agent:write'] });
    for (const grant of [WHOLE, 'tool:call:gh/find', 'tool:call:gh/none-yet']) {
      await must('create_api_key', { name: 'k', scopes: [], grants: [grant] }, maker);
    }
    for (const grant of ['tool:call:gl/find', 'tool:call:gl/*', 'tool:call', 'tool:*:gh/*', '*']) {
      const { required } = await refused('create_api_key', { name: 'k', scopes: [], grants: [grant] }, maker);
      assert.equal(required?.grant, grant);
    }
    const narrow = await makeKey(server, { grants: ['tool:call:gh/find', 'key:write'] });
    assert.equal(
      (await refused('create_api_key', { name: 'k', scopes: [], grants: [WHOLE] }, narrow)).code,
      'forbidden',
    );
    await must('create_agent', { name: 'a', displayName: 'A', tools: ['gh__*'] }, maker);
    const beyond = await refused('create_agent', { name: 'b', displayName: 'B', tools: ['gl__*'] }, maker);
    assert.equal(beyond.code, 'forbidden');
    for (const [entry, grant] of [
      ['none__*', 'tool:call:none/*'],
      ['none__find', 'tool:call:none/find'],
      ['no_tool_yet', 'tool:call'],
    ] as const) {
      const later = await refused('create_agent', { name: 'l', displayName: 'L', tools: [entry] }, maker);
      assert.deepEqual([later.code, later.required?.grant], ['forbidden', grant], entry);
    }
    await must('create_capsule', { name: 'c', allowedTools: ['gh__find'] }, maker);
    assert.equal((await refused('create_capsule', { name: 'd', allowedTools: ['gl__find'] }, maker)).code, 'forbidden');
  });

  it('is explained, and of one integration alone', async () => {
    const { must, refused } = callsOf(server);
    const { id } = await must('create_api_key', { name: 'k', scopes: [], grants: [WHOLE] });
    const explain = (tool: string) => must('explain_access', { keyId: id, tool, arguments: {} });
    const allowed = await explain('gh__find');
    assert.equal(allowed.verdict, 'allowed');
    assert.match(JSON.stringify(allowed.checks), /Grant \\"tool:call:gh\/\*\\" covers \\"tool:call:gh\/find\\"/);
    assert.equal((await explain('gl__find')).verdict, 'denied');
    const { issues = [] } = await refused('create_api_key', { name: 'k', scopes: [], grants: ['agent:read:x/*'] });
    assert.match(issues[0]?.message ?? '', /resource tool/);
  });

  it('is needed to have a capsule call the tool, and a capsule reaches no other', async () => {
    const { id, token } = await makeCapsule(server, { allowedTools: ['gh__*'] });
    const call = (name: string) =>
      rest(server, 'POST', `/api/capsules/${id}/mcp`, {
        key: token,
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } },
      });
    assert.ok(!(await call('gh__find')).body.result.isError);
    assert.equal((await call('gl__find')).body.result.isError, true);
  });
});
