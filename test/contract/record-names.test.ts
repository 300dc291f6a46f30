import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, callTool, makeKey, mustCall, rest } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { until } from '../support/until.ts';

const NAME = 'Care / é 100%';

const server = serverForTests();
const { must } = callsOf(server);
const refusalOf = async (key: string, tool: string, input: object) => {
  const answer = await callTool(server, key, tool, input);
  assert.ok('error' in answer, JSON.stringify(answer));
  return answer.error;
};

describe('a skill or flow by its name', () => {
  for (const kind of ['skill', 'flow']) {
    it(`is read, changed and deleted as by its id: ${kind}`, async () => {
      const { id } = await must(`create_${kind}`, { name: NAME });
      const path = `/api/v1/agents/${kind}s/${encodeURIComponent(NAME)}`;
      assert.equal((await rest(server, 'GET', path, { key: server.adminKey })).body.id, id);
      const body = { description: 'new' };
      assert.equal((await rest(server, 'PATCH', path, { key: server.adminKey, body })).body.description, 'new');
      const key = await makeKey(server, { grants: [`${kind}:read:${id}`] });
      assert.equal((await mustCall(server, key, `get_${kind}`, { id: ` ${NAME.normalize('NFD')} ` })).id, id);
      assert.equal((await rest(server, 'DELETE', path, { key: server.adminKey })).status, 204);
      assert.equal((await refusalOf(server.adminKey, `get_${kind}`, { id: NAME })).code, 'not_found');
    });

    it(`may not look like an id: ${kind}`, async () => {
      const name = `abc_${'0'.repeat(26)}`;
      assert.equal((await refusalOf(server.adminKey, `create_${kind}`, { name })).code, 'invalid_input');
      const { id } = await must(`create_${kind}`, { name: `plain ${kind}` });
      assert.equal((await refusalOf(server.adminKey, `update_${kind}`, { id, name })).code, 'invalid_input');
    });

    it(`shows nothing of one that the caller may not read: ${kind}`, async () => {
      const { id } = await must(`create_${kind}`, { name: 'hidden' });
      const own = await must(`create_${kind}`, { name: 'own' });
      const rights = [
        { grants: [`${kind}:read:${own.id}`, `${kind}:write:${own.id}`] },
        { scopes: [`${kind}s:write`], grants: [`${kind}:write`] },
        { grants: ['agent:write', 'agent:read'] },
      ];
      for (const right of rights) {
        const key = await makeKey(server, right);
        for (const [tool, input] of [
          [`get_${kind}`, {}],
          [`update_${kind}`, { description: 'x' }],
        ] as const) {
          const there = await refusalOf(key, tool, { id: 'hidden', ...input });
          const absent = await refusalOf(key, tool, { id: 'absent', ...input });
          const plain = (error: object) => JSON.stringify({ ...error, requestId: '' }).replaceAll('absent', 'hidden');
          assert.equal(plain(there), plain(absent));
          assert.ok(!plain(there).includes(id));
        }
      }
      await must(`delete_${kind}`, { id });
      await must(`delete_${kind}`, { id: own.id });
    });
  }

  it('has its history read, compared and restored, and is purged', async () => {
    for (const kind of ['skill', 'flow']) {
      const { id } = await must(`create_${kind}`, { name: `kept ${kind}` });
      await must(`update_${kind}`, { id, description: 'second' });
      const place = { entityType: kind, entityId: `kept ${kind}` };
      const { data } = await must('list_versions', place);
      assert.equal(data.length, 2);
      const versionId = data[1].id;
      assert.equal((await must('get_version', { ...place, versionId })).entityId, id);
      await must('diff_version', { ...place, versionId });
      const path = `/api/v1/versions/${kind}/${encodeURIComponent(`kept ${kind}`)}/${versionId}/restore`;
      assert.equal((await rest(server, 'POST', path, { key: server.adminKey, body: {} })).body.entityId, id);
      const stranger = await makeKey(server, { grants: [`${kind}:read:absent`] });
      const error = await refusalOf(stranger, 'list_versions', place);
      assert.ok(!JSON.stringify(error).includes(id), JSON.stringify(error));
      await must('purge_record', { entityType: kind, id: `kept ${kind}` });
      assert.equal((await refusalOf(server.adminKey, `get_${kind}`, { id })).code, 'not_found');
    }
  });

  it('is taken over, and filters usage and the audit log: a flow', async () => {
    const { id } = await must('create_flow', { name: 'counted' });
    const wrong = { type: 'flow', id: 'counted', expectedRevision: 9 };
    assert.equal((await refusalOf(server.adminKey, 'take_over', wrong)).code, 'conflict');
    await must('update_flow', { id, steps: [{ id: 'a', tool: 'list_skills' }], enabled: true });
    await must('trigger_flow', { id: 'counted' });
    await until(async () => (await must('list_flow_runs', { id, status: 'succeeded' })).data.length > 0);
    await server.store.audit.flush();
    for (const flow of [id, 'counted']) {
      assert.equal((await must('get_usage', { by: 'tool', filter: { flow } })).totals.calls, 1, flow);
      assert.equal((await must('list_audit_entries', { principal: flow })).data.length, 1, flow);
    }
  });

  it('is reported where a step of a flow names one that is not there', async () => {
    const absent = 'skl_00000000000000000000000000';
    const steps = [
      { id: 'a', tool: 'get_skill', arguments: { id: 'missing skill' } },
      { id: 'b', tool: 'trigger_flow', arguments: { id: 'missing flow' } },
      { id: 'c', tool: 'list_flow_runs', arguments: { flowId: 'missing flow' } },
      { id: 'd', tool: 'get_usage', arguments: { by: 'tool', filter: { flow: 'missing flow' } } },
      { id: 'e', tool: 'list_versions', arguments: { entityType: 'skill', entityId: 'missing skill' } },
      { id: 'f', tool: 'get_skill', arguments: { id: absent } },
      { id: 'g', tool: 'get_skill', arguments: { id: '{{ input.id }}' } },
      { id: 'h', tool: 'list_versions', arguments: { entityType: 'skill', entityId: absent } },
    ];
    const { issues } = await refusalOf(server.adminKey, 'create_flow', { name: 'loose', steps });
    assert.deepEqual(
      issues?.map(({ path, message }) => [path, message.replace(/;.*/, '')]),
      [
        ['steps[0].arguments.id', 'There is no skill missing skill'],
        ['steps[1].arguments.id', 'There is no flow missing flow'],
        ['steps[2].arguments.id', 'There is no flow missing flow'],
        ['steps[3].arguments.filter.flow', 'There is no flow missing flow'],
        ['steps[4].arguments.entityId', 'There is no skill missing skill'],
        ['steps[5].arguments.id', `There is no skill ${absent}`],
      ],
    );
    const { id } = await must('create_flow', { name: 'drafted' });
    const update = await refusalOf(server.adminKey, 'update_flow', { id, steps: steps.slice(0, 1) });
    assert.equal(update.issues?.[0]?.path, 'steps[0].arguments.id');
  });

  it('gives agents a skill, whose id is kept, if the caller may read it', async () => {
    const { id } = await must('create_skill', { name: 'letters' });
    const agent = await must('create_agent', { name: 'writer', displayName: 'W', skillIds: ['letters'] });
    assert.deepEqual(agent.skillIds, [id]);
    assert.deepEqual((await must('update_agent', { id: 'writer', skillIds: ['letters'] })).skillIds, [id]);
    const key = await makeKey(server, { grants: ['agent:write', 'agent:read'] });
    const input = { name: 'spy', displayName: 'S', skillIds: ['letters'] };
    const refused = JSON.stringify(await refusalOf(key, 'create_agent', input));
    assert.ok(refused.includes('There is no skill letters') && !refused.includes(id), refused);
  });

  it('starts a flow, and lists its runs and deliveries', async () => {
    const { id } = await must('create_flow', {
      name: 'nightly',
      enabled: true,
      steps: [{ id: 'a', tool: 'list_skills' }],
    });
    const key = server.adminKey;
    const begun = await rest(server, 'POST', '/api/v1/agents/flows/nightly/trigger', { key, body: {} });
    assert.deepEqual([begun.status, begun.body.flowId], [202, id], JSON.stringify(begun.body));
    const { data } = await must('list_flow_runs', { id: 'nightly' });
    assert.deepEqual(
      data.map((run: { id: string }) => run.id),
      [begun.body.id],
    );
    assert.deepEqual((await must('list_flow_deliveries', { id: 'nightly' })).data, []);
    const step = { id: 'a', tool: 'get_flow', arguments: { id: 'nightly' } };
    assert.equal((await must('create_flow', { name: 'reader', steps: [step] })).steps[0].arguments.id, id);
  });

  it('is refused where several flows have it, with the ids of those that the caller may read', async () => {
    const [one, two, three] = await Promise.all([1, 2, 3].map(() => must('create_flow', { name: 'twin' })));
    const error = await refusalOf(server.adminKey, 'trigger_flow', { id: 'twin' });
    assert.deepEqual([error.code, error.issues?.[0]?.path], ['invalid_input', 'id']);
    for (const { id } of [one, two, three]) assert.ok(error.error.includes(id), error.error);
    const pair = await makeKey(server, { grants: [`flow:read:${one.id}`, `flow:read:${two.id}`] });
    const fewer = await refusalOf(pair, 'get_flow', { id: 'twin' });
    assert.ok(fewer.error.includes(one.id) && fewer.error.includes(two.id), fewer.error);
    assert.ok(!JSON.stringify(fewer).includes(three.id));
    const single = await makeKey(server, { grants: [`flow:read:${one.id}`] });
    assert.equal((await mustCall(server, single, 'get_flow', { id: 'twin' })).id, one.id);
  });
});
