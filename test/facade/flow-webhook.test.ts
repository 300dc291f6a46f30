import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mustCall, rest } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';

const server = serverForTests();
const ask = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);
const hook = async (flowId: string) =>
  (await ask('create_api_key', { name: `hook ${flowId}`, scopes: [], grants: [`flow:trigger:${flowId}`] })).secret;
const trigger = (id: string, key: string, body: object, headers: Record<string, string> = {}) =>
  rest(server, 'POST', `/api/v1/agents/flows/${id}/trigger`, { key, body, headers });

describe('a webhook', () => {
  it('with a key for nothing else gives an agent its prompt, and shows nothing of the outcome', async () => {
    const agent = await ask('create_agent', { name: 'ada', displayName: 'Ada' });
    const members = { trigger: { kind: 'webhook' }, agentId: agent.id };
    for (const [prompt, told] of [
      ['{{ input.n }}', '3'],
      ['{{ input }}', '{"n":3}'],
      [undefined, '{"n":3}'],
      ['Count to {{ input.n }}.', 'Count to 3.'],
    ]) {
      const flow = await ask('create_flow', { name: 'hook', ...members, ...(prompt && { prompt }) });
      const key = await hook(flow.id);
      const { status, body } = await trigger(flow.id, key, { input: { n: 3 }, wait: true });
      assert.deepEqual([status, body.status], [200, 'succeeded'], JSON.stringify(body));
      assert.deepEqual(Object.keys(body.steps[0]).sort(), [
        'attempts',
        'finishedAt',
        'id',
        'startedAt',
        'status',
        'tool',
      ]);
      assert.equal('input' in body, false);
      const run = await ask('get_flow_run', { id: body.id });
      assert.equal(run.steps[0].input.input, told);
      assert.equal(typeof run.steps[0].output.text, 'string');
      assert.equal((await rest(server, 'GET', `/api/v1/agents/flows/${flow.id}`, { key })).status, 403);
    }
  });

  it('is answered with 202 where it goes on, and with the same again for its key', async () => {
    const steps = [{ id: 'a', tool: 'list_agents', arguments: {} }];
    const flow = await ask('create_flow', { name: 'hook', trigger: { kind: 'webhook' }, steps });
    const key = await hook(flow.id);
    const once = { 'idempotency-key': 'one' };
    const [first, again] = [await trigger(flow.id, key, {}, once), await trigger(flow.id, key, {}, once)];
    assert.deepEqual([first.status, again.status, again.body], [202, 202, first.body]);
    assert.equal((await ask('list_flow_runs', { id: flow.id })).data.length, 1);
    const other = await ask('create_flow', { name: 'other', steps });
    assert.equal((await trigger(other.id, key, {})).status, 403);
    await ask('update_flow', { id: flow.id, enabled: false });
    assert.equal((await trigger(flow.id, key, {})).status, 409);
  });
});
