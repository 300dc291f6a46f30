import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Circuit, CircuitOpen, FAILURES, OPEN_MS } from '../../tools/core/models/circuit.ts';
import { callTool, mustCall } from '../support/calls.ts';
import { startCluster } from '../support/cluster.ts';
import { startModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';

const provider = await startModelServer();
const cluster = await startCluster({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });

describe('the circuit of a provider in two processes', () => {
  let ms = Date.parse('2026-03-10T12:00:00Z');
  const [one, other] = cluster.members.map(
    ({ store }) => new Circuit('shared', { cluster: store.cluster, now: () => new Date(ms) }),
  ) as [Circuit, Circuit];
  const fail = async (circuit: Circuit, times: number) => {
    for (let at = 0; at < times; at += 1) await (await circuit.admit()).failed();
  };
  const refused = (circuit: Circuit) => assert.rejects(circuit.admit(), CircuitOpen);

  it('opens for both by failures of both, and by none between successes', async () => {
    for (let at = 0; at < 5; at += 1) {
      await fail(one, 2);
      await (await one.admit()).succeeded();
    }
    await fail(one, 2);
    await fail(other, FAILURES - 2);
    await refused(one);
    await refused(other);
  });

  it('is tried by one of both, and closes for both', async () => {
    ms += OPEN_MS;
    const asked = await Promise.allSettled([one.admit(), other.admit(), one.admit(), other.admit()]);
    const [probe, ...more] = asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    assert.ok(probe && more.length === 0);
    await probe.succeeded();
    await Promise.all([one.admit(), other.admit()]);
    await fail(one, 2);
    await fail(other, 2);
    await Promise.all([one.admit(), other.admit()]);
  });
});

it('a process does not ask a provider that failed the other one', async () => {
  const [first, second] = cluster.members;
  await mustCall(first, first.adminKey, 'create_agent', { name: 'ada', displayName: 'Ada' });
  const invoke = (member: typeof first) =>
    callTool(member, member.adminKey, 'invoke_agent', { agent: 'ada', input: 'x' });
  provider.play(() => ({ status: 503, headers: { 'Retry-After': '600' } }));
  for (let at = 0; at < FAILURES; at += 1) await invoke(first);
  const asked = provider.requests.length;
  const answer = await invoke(second);
  assert.match('error' in answer ? answer.error.error : '', /is not asked before/);
  assert.equal(provider.requests.length, asked);
  await until(async () => {
    const { integrations } = await mustCall(second, second.adminKey, 'get_system_health');
    return integrations.some(
      ({ name, status }: { name: string; status: string }) => name === 'custom' && status === 'down',
    );
  });
});
