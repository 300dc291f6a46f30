import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { actingFor } from '../../tools/core/access/agent-principal.ts';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { CREATES, defineTool, READS } from '../../tools/core/registry/define-tool.ts';
import { deferred } from '../support/deferred.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { pluck } from '../support/pluck.ts';
import { until } from '../support/until.ts';

const failing = { left: 0, code: 'unavailable' as 'unavailable' | 'not_found' };
const flaky = defineTool({
  name: 'flaky',
  title: 'Flaky',
  description: 'Fails so many times, then answers.',
  access: ANYONE,
  annotations: READS,
  input: z.strictObject({}),
  output: z.object({ ok: z.boolean() }),
  errors: ['not_found'],

  async handler(_, { fail }) {
    if (failing.left === 0) return { ok: true };
    failing.left -= 1;
    throw fail(failing.code, 'It fails for now.');
  },
});

/** Gates that a test opens. */
const gates = new Map<string, Promise<void>>();
function gate(name: string) {
  const { promise, resolve } = deferred();
  gates.set(name, promise);
  return resolve;
}
const waits = defineTool({
  name: 'waits',
  title: 'Waits',
  description: 'Answers when its gate is open.',
  access: ANYONE,
  annotations: { ...CREATES, openWorldHint: true },
  inSteps: true,
  input: z.strictObject({ gate: z.string() }),
  output: z.object({ ok: z.boolean() }),
  errors: [],

  async handler({ gate: name }) {
    await gates.get(name);
    return { ok: true };
  },
});

const world = await FlowWorld.open({ tools: [flaky, waits] });

const skillStep = (id: string, name: string, more: object = {}) => ({
  id,
  tool: 'create_skill',
  arguments: { name, instructions: 'x' },
  ...more,
});
const skillNamed = async (name: string) => (await world.store.skills.find({ where: { name }, limit: 5 })).records;

const RIGHTS = ['flows:read', 'flows:write', 'skills:read', 'skills:write'];

describe('retry_flow_run', () => {
  const steps = [
    skillStep('made', 'kept {{ input.n }}'),
    { id: 'flaky', tool: 'flaky' },
    { id: 'after', tool: 'list_agents' },
  ];
  const failedRun = async (n: number) => {
    const { id } = await world.flow({ steps });
    Object.assign(failing, { left: 1, code: 'not_found' });
    const run = await world.run(id, { n });
    assert.equal(run.status, 'failed');
    return run;
  };
  const ended = async (id: string) => {
    await until(async () => (await world.must('get_flow_run', { id })).finishedAt);
    return world.must('get_flow_run', { id });
  };

  it('goes on from a step, with the outputs before it and the same input', async () => {
    const run = await failedRun(1);
    const retried = await ended((await world.must('retry_flow_run', { id: run.id, fromStep: 'flaky' })).id);
    assert.deepEqual([retried.status, retried.retryOf, retried.input], ['succeeded', run.id, { n: 1 }]);
    assert.deepEqual(retried.steps[0], run.steps[0]);
    assert.equal((await skillNamed('kept 1')).length, 1);
  });

  it('goes on with the step that was repaired, or one put before it, and keeps what was done before', async () => {
    const run = await failedRun(4);
    const [made] = steps;
    const repaired = [made, { id: 'look', tool: 'list_skills' }, { id: 'flaky', tool: 'list_agents' }];
    await world.must('update_flow', { id: run.flowId, steps: repaired });
    const retried = await ended((await world.must('retry_flow_run', { id: run.id, fromStep: 'look' })).id);
    assert.deepEqual(pluck(retried.steps, 'status'), ['succeeded', 'succeeded', 'succeeded']);
    assert.deepEqual(pluck(retried.steps, 'tool'), ['create_skill', 'list_skills', 'list_agents']);
    assert.deepEqual(retried.steps[0], run.steps[0]);
    assert.equal((await skillNamed('kept 4')).length, 1);
  });

  it('goes on for an administrator who repaired the flow of somebody else, not for another who did', async () => {
    const [writer, other] = [await world.key(RIGHTS), await world.key(RIGHTS)];
    const broken = [
      skillStep('made', 'of {{ input.n }}'),
      { id: 'look', tool: 'get_skill', arguments: { id: '{{ input.n }}' } },
    ];
    const repaired = [...broken.slice(0, 1), { id: 'look', tool: 'list_skills' }];
    for (const [n, who] of [world.admin, other].entries()) {
      const { id } = await world.flow({ steps: broken }, writer);
      const run = await world.run(id, { n }, writer);
      await world.must('update_flow', { id, steps: repaired }, who);
      const again = { id: run.id, fromStep: 'look' };
      if (who === other) {
        assert.match((await world.refused('retry_flow_run', again, who)).error, /runs as somebody else/);
        continue;
      }
      const made = await world.must('retry_flow_run', again, who);
      assert.equal((await ended(made.id)).status, 'succeeded');
    }
  });

  it('does all steps again where none is named', async () => {
    const run = await failedRun(2);
    const [made] = await skillNamed('kept 2');
    await world.must('delete_skill', { id: made?.id });
    const retried = await ended((await world.must('retry_flow_run', { id: run.id })).id);
    assert.equal(retried.status, 'succeeded');
    assert.notEqual((await skillNamed('kept 2'))[0]?.id, made?.id);
  });

  it('refuses what it cannot do again', async () => {
    const run = await failedRun(3);
    const refused = async (input: object) => (await world.refused('retry_flow_run', { id: run.id, ...input })).error;
    assert.match(await refused({ fromStep: 'none' }), /no step "none"; name one of made, flaky, after/);
    assert.match(await refused({ fromStep: 'after' }), /The step flaky before it did not succeed/);
    const other = [skillStep('made', 'other {{ input.n }}'), ...steps.slice(1)];
    await world.must('update_flow', { id: run.flowId, steps: other });
    assert.match(await refused({ fromStep: 'flaky' }), /step made before it is not as it was in that run/);
    await world.must('update_flow', { id: run.flowId, enabled: false });
    assert.match(await refused({}), /disabled/);
  });
});

describe('a run of a flow', () => {
  it('calls its tools one after the other, with what came before', async () => {
    const { id } = await world.flow({
      steps: [
        skillStep('first', 'of {{ input.who }}'),
        {
          id: 'second',
          tool: 'get_skill',
          arguments: { id: '{{ steps.first.output.id }}' },
        },
        { id: 'third', tool: 'list_agents', arguments: { limit: '{{ input.limit }}' } },
      ],
    });
    const run = await world.run(id, { who: 'Ada', limit: 3 });
    assert.equal(run.status, 'succeeded');
    assert.deepEqual(pluck(run.steps, 'status'), ['succeeded', 'succeeded', 'succeeded']);
    assert.equal(run.steps[1]?.output?.name, 'of Ada');
    assert.deepEqual(run.steps[2]?.input, { limit: 3 });
    assert.ok(run.startedAt && run.finishedAt && run.steps[0]?.startedAt && run.steps[0].finishedAt);
    const { data } = await world.must('list_audit_entries', { tool: 'create_skill', door: 'flow', limit: 1 });
    assert.deepEqual(data[0].principal, { type: 'flow', id, name: 'test' });
    assert.deepEqual(data[0].onBehalfOf[0].id, world.admin.id);
  });

  it('leaves out a step whose condition does not hold, and gives null for its output', async () => {
    const { id } = await world.flow({
      steps: [
        skillStep('maybe', 'never made', { when: 'input.go == true' }),
        skillStep('next', 'after {{ steps.maybe.output | json }}'),
      ],
    });
    const run = await world.run(id, { go: false });
    assert.deepEqual(pluck(run.steps, 'status'), ['skipped', 'succeeded']);
    assert.equal((await skillNamed('never made')).length, 0);
    assert.equal((await skillNamed('after null')).length, 1);
  });

  it('stops at a step that fails and says why, or goes on where it may', async () => {
    const wrong = { id: 'wrong', tool: 'get_skill', arguments: { id: '{{ "skl_none" }}' } };
    const stops = await world.run((await world.flow({ steps: [wrong, skillStep('next', 'not reached')] })).id);
    assert.equal(stops.status, 'failed');
    assert.match(stops.error?.message ?? '', /^Step wrong: There is no skill/);
    assert.equal(stops.steps[1]?.status, 'pending');
    assert.equal((await skillNamed('not reached')).length, 0);
    const steps = [{ ...wrong, onError: 'continue' }, skillStep('next', 'reached')];
    const goes = await world.run((await world.flow({ steps })).id);
    assert.equal(goes.status, 'succeeded');
    assert.equal((await skillNamed('reached')).length, 1);
  });

  it('tries again what may be better the next time, and nothing else', async () => {
    const step = { id: 'a', tool: 'flaky', arguments: {}, retry: { attempts: 3, delayMs: 1 } };
    const { id } = await world.flow({ steps: [step] });
    Object.assign(failing, { left: 2, code: 'unavailable' });
    const run = await world.run(id);
    assert.equal(run.status, 'succeeded');
    assert.equal(run.steps[0]?.attempts, 3);
    assert.equal(run.steps[0]?.error, undefined);
    Object.assign(failing, { left: 5, code: 'unavailable' });
    assert.equal((await world.run(id)).status, 'failed');
    Object.assign(failing, { left: 5, code: 'not_found' });
    assert.equal((await world.run(id)).steps[0]?.attempts, 1);
    failing.left = 0;
  });

  it('says which template cannot be filled', async () => {
    const steps = [skillStep('a', '{{ input.list | sum_of_nothing }}')];
    assert.match(JSON.stringify(await world.call('create_flow', { name: 'x', steps })), /sum_of_nothing/);
    const when = await world.flow({ steps: [skillStep('a', 'x', { when: 'input.absent == 1' })] });
    const run = await world.run(when.id);
    assert.match(run.error?.message ?? '', /No such key: absent/);
  });

  it('fails where a template gives nothing and the tool requires something', async () => {
    const [empty, some] = [skillStep('a', '{{ input.absent }}{{ input.other }}'), skillStep('a', '{{ input.absent }}')];
    for (const step of [empty, some]) {
      const { id } = await world.flow({ steps: [step] });
      const { status, error } = await world.run(id, {});
      assert.equal(status, 'failed');
      assert.match(
        error?.message ?? '',
        /arguments\.name: the template .* gives nothing, and arguments\.name is required/,
      );
    }
  });

  it('of a draft or a disabled flow is refused', async () => {
    const draft = await world.flow({});
    assert.match((await world.refused('trigger_flow', { id: draft.id })).error, /draft/);
    const off = await world.flow({ enabled: false, steps: [skillStep('a', 'off')] });
    assert.equal(await world.codeOf('trigger_flow', { id: off.id }), 'conflict');
  });

  it('waits for the one before it, unless the flow lets them run side by side', async () => {
    for (const overlap of ['queue', 'allow']) {
      const { id } = await world.flow({
        overlap,
        steps: [{ id: 'a', tool: 'waits', arguments: { gate: '{{ input.gate }}' } }],
      });
      const [openFirst, openSecond] = [gate('first'), gate('second')];
      await world.must('trigger_flow', { id, input: { gate: 'first' } });
      await world.must('trigger_flow', { id, input: { gate: 'second' } });
      const statuses = async () => (await world.runs(id)).map(({ status }) => status);
      const expected = overlap === 'queue' ? ['running', 'queued'] : ['running', 'running'];
      await until(async () => (await statuses()).join() === expected.join());
      openFirst();
      openSecond();
      await until(async () => (await statuses()).join() === 'succeeded,succeeded');
    }
  });

  it('is cancelled while it waits when its flow is disabled or deleted, and says so', async () => {
    for (const end of ['disable', 'delete']) {
      const { id } = await world.flow({ steps: [{ id: 'a', tool: 'waits', arguments: { gate: 'busy' } }] });
      const open = gate('busy');
      await world.must('trigger_flow', { id });
      const { id: queued } = await world.must('trigger_flow', { id });
      await until(async () => (await world.runs(id))[0]?.status === 'running');
      if (end === 'disable') await world.must('update_flow', { id, enabled: false });
      else await world.must('delete_flow', { id });
      const find = async () => (await world.must('get_flow_run', { id: queued })).status;
      await until(async () => (await find()) === 'cancelled');
      const { error } = await world.must('get_flow_run', { id: queued });
      assert.match(error.message, end === 'disable' ? /disabled/ : /deleted/);
      open();
    }
  });

  it('is ended by cancel_flow_run, waiting or under way, and not twice', async () => {
    const { id } = await world.flow({
      steps: [{ id: 'a', tool: 'waits', arguments: { gate: 'held' } }, skillStep('b', 'after the cancelling')],
    });
    const open = gate('held');
    const first = await world.must('trigger_flow', { id });
    const second = await world.must('trigger_flow', { id });
    await until(async () => (await world.runs(id))[0]?.status === 'running');
    assert.equal((await world.must('cancel_flow_run', { id: second.id })).status, 'cancelled');
    await world.must('cancel_flow_run', { id: first.id });
    open();
    await until(async () => (await world.must('get_flow_run', { id: first.id })).status === 'cancelled');
    assert.equal((await skillNamed('after the cancelling')).length, 0);
    const done = await world.run((await world.flow({ steps: [skillStep('a', 'done')] })).id);
    assert.equal(await world.codeOf('cancel_flow_run', { id: done.id }), 'conflict');
  });

  it('repeats the answer for one idempotency key', async () => {
    const { id } = await world.flow({ steps: [skillStep('a', 'once {{ input.n }}')] });
    const call = () =>
      world.registry.call({
        principal: world.admin,
        tool: 'trigger_flow',
        input: { id, input: { n: 1 }, wait: true },
        door: 'mcp',
        requestId: 'test',
        idempotency: { key: 'one', operation: 'trigger' },
      });
    const [first, second] = [await call(), await call()];
    assert.ok(first.ok && second.ok && second.replayed);
    assert.equal((await world.runs(id)).length, 1);
  });
});

describe('the record of a run', () => {
  it('holds nothing of a record that was purged', async () => {
    const { id } = await world.flow({ steps: [skillStep('a', 'purged {{ input.mark }}')] });
    const run = await world.run(id, { mark: 'MARKED' });
    const skillId = String(run.steps[0]?.output?.id);
    await world.must('purge_record', { entityType: 'skill', id: skillId });
    const kept = await world.store.flowRuns.get(run.id);
    assert.equal(JSON.stringify(kept).includes('MARKED'), false);
    assert.equal(kept?.steps[0]?.status, 'succeeded');
  });
});

describe('the rights of a run', () => {
  it('are those of runAs at that moment, whoever triggers it', async () => {
    const writer = await world.key(['flows:write', 'skills:write']);
    const { id } = await world.flow({ steps: [skillStep('a', 'by the writer')] }, writer);
    const trigger = await world.key([], [`flow:trigger:${id}`]);
    assert.equal((await world.run(id, {}, trigger)).status, 'succeeded');
    assert.equal((await skillNamed('by the writer')).length, 1);
    assert.equal(await world.codeOf('trigger_flow', { id: 'flw_other' }, trigger), 'forbidden');
  });

  it('end with those of runAs', async () => {
    const writer = await world.key(['flows:write', 'skills:write']);
    const { id } = await world.flow({ steps: [skillStep('a', 'never by the revoked')] }, writer);
    const going = { ...skillStep('a', 'never by the revoked'), onError: 'continue' };
    const { id: goesOn } = await world.flow({ steps: [going] }, writer);
    await world.must('revoke_api_key', { id: writer.id });
    const run = await world.run(id);
    assert.equal(run.status, 'failed');
    assert.match(run.error?.message ?? '', /was revoked/);
    assert.equal((await world.run(goesOn)).status, 'failed', 'whatever its steps go on after');
    assert.equal((await skillNamed('never by the revoked')).length, 0);
  });

  it('end between two steps too', async () => {
    const writer = await world.key(['write']);
    const steps = [{ id: 'a', tool: 'waits', arguments: { gate: 'revoking' } }, skillStep('b', 'too late')];
    const { id } = await world.flow({ steps }, writer);
    const open = gate('revoking');
    const { id: runId } = await world.must('trigger_flow', { id });
    await until(async () => (await world.runs(id))[0]?.steps[0]?.status === 'running');
    await world.must('revoke_api_key', { id: writer.id });
    open();
    await until(async () => (await world.must('get_flow_run', { id: runId })).status === 'failed');
    assert.equal((await skillNamed('too late')).length, 0);
  });

  it('are nobody’s to give who acts for somebody', async () => {
    const agent = actingFor(world.admin, { id: 'agt_x', name: 'x', tools: ['*'] }, world.registry.server.catalog);
    assert.equal(await world.codeOf('create_flow', { name: 'x', steps: [skillStep('a', 'x')] }, agent), 'forbidden');
    assert.equal('output' in (await world.call('create_flow', { name: 'draft' }, agent)), true);
  });

  it('never reach tools whose answers hold a secret', async () => {
    const steps = [{ id: 'a', tool: 'create_api_key', arguments: { name: 'x', scopes: ['read'] } }];
    assert.match((await world.refused('create_flow', { name: 'x', steps })).error, /can never be in a flow/);
  });

  it('show content to runAs and admins, and to others status and timing', async () => {
    const writer = await world.key(['flows:read', 'flows:write', 'skills:write']);
    const { id } = await world.flow({ steps: [skillStep('a', 'secret plan')] }, writer);
    const trigger = await world.key([], [`flow:trigger:${id}`, `flow:read:${id}`]);
    const run = await world.run(id, { token: 'secret input' }, trigger);
    assert.equal(JSON.stringify(run).includes('secret'), false);
    assert.equal(run.steps[0]?.status, 'succeeded');
    const seen = await world.must('get_flow_run', { id: run.id }, trigger);
    assert.equal(JSON.stringify(seen).includes('secret'), false);
    for (const principal of [writer, world.admin]) {
      const whole = await world.must('get_flow_run', { id: run.id }, principal);
      assert.equal(whole.steps[0].output.name, 'secret plan');
      assert.deepEqual(whole.input, { token: 'secret input' });
    }
    const stranger = await world.key([], ['flow:read:flw_other']);
    assert.equal(await world.codeOf('get_flow_run', { id: run.id }, stranger), 'forbidden');
  });

  it('show nothing to runAs that names a thread which it may not see any more', async () => {
    const key = await world.key(['flows:read', 'flows:write', 'threads:write', 'skills:write']);
    const entries = [{ principal: { type: 'api-key', id: key.id }, role: 'editor' }];
    const thread = await world.must('create_thread', { title: 'T', visibility: 'restricted' });
    await world.must('add_thread_access', { id: thread.id, entries });
    const steps = [
      { id: 'a', tool: 'update_thread', arguments: { id: thread.id, title: 'quokka' } },
      skillStep('b', '{{ steps.a.output.title }}'),
    ];
    const { id } = await world.flow({ steps }, key);
    const run = await world.run(id, { about: 'quokka' }, key);
    const reads = async () => [
      await world.must('get_flow_run', { id: run.id }, key),
      ...(await world.must('list_flow_runs', { id }, key)).data,
    ];
    for (const seen of await reads()) assert.match(JSON.stringify(seen), /quokka/);
    await world.must('remove_thread_access', { id: thread.id, principals: [entries[0]?.principal] });
    for (const seen of await reads()) {
      assert.doesNotMatch(JSON.stringify(seen), /quokka/);
      assert.equal(seen.steps[0].status, 'succeeded');
    }
    assert.match(JSON.stringify(await world.must('get_flow_run', { id: run.id })), /quokka/);
  });

  it('show by the rights of a repeat what an earlier answer showed', async () => {
    const { id } = await world.flow({ steps: [skillStep('a', 'secret once')] });
    const key = await world.key(['admin']);
    const trigger = (principal: typeof key) =>
      world.registry.call({
        principal,
        tool: 'trigger_flow',
        input: { id, wait: true },
        door: 'mcp',
        requestId: 'test',
        idempotency: { key: 'shown', operation: 'trigger' },
      });
    assert.match(JSON.stringify(await trigger(key)), /secret once/);
    const less = { ...key, ...(await world.key(['flows:write'])), id: key.id, name: key.name };
    const repeat = await trigger(less);
    assert.ok(repeat.ok && repeat.replayed);
    assert.doesNotMatch(JSON.stringify(repeat), /secret once/);
    assert.match(JSON.stringify(await trigger(key)), /secret once/);
  });

  it('let no flow lead to itself, nor more than three to each other', async () => {
    const inner = await world.flow({ name: 'inner', steps: [skillStep('a', 'deep')] });
    const ids = [inner.id];
    for (let depth = 0; depth < 3; depth += 1) {
      const steps = [{ id: 'a', tool: 'trigger_flow', arguments: { id: ids[0], wait: true } }];
      ids.unshift((await world.flow({ name: `outer ${depth}`, steps })).id);
    }
    const [outermost = ''] = ids;
    await world.run(outermost);
    assert.equal((await world.runs(inner.id)).length, 0);
    const third = (await world.runs(ids[2] ?? ''))[0];
    assert.match(third?.error?.message ?? '', /3 (deep|flows)/);
    const { id } = await world.flow({ name: 'self', steps: [skillStep('a', 'x')] });
    const steps = [{ id: 'a', tool: 'trigger_flow', arguments: { id, wait: true } }];
    await world.must('update_flow', { id, steps });
    const run = await world.run(id);
    assert.match(run.error?.message ?? '', /itself|of its own/);
  });
});
