import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  Circuit,
  CircuitOpen,
  FAILURES,
  LONGEST_OPEN_MS,
  MOST_SILENT,
  OPEN_MS,
} from '../../tools/core/models/circuit.ts';
import { Circuits } from '../../tools/core/models/circuits.ts';
import { Meter } from '../../tools/core/telemetry/meter.ts';
import { callsOf, mustCall, rest } from '../support/calls.ts';
import { startModelServer } from '../support/model-server.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const START = Date.parse('2026-03-10T12:00:00Z');

function circuitAt(options: object = {}) {
  let ms = START;
  const circuit = new Circuit('custom', { now: () => new Date(ms), ...options });
  const pass = (by: number) => {
    ms += by;
  };
  const fail = async (times = 1) => {
    for (let at = 0; at < times; at += 1) await (await circuit.admit()).failed();
  };
  return { circuit, pass, fail };
}
const refused = (circuit: Circuit) => assert.rejects(circuit.admit(), CircuitOpen);

describe('the circuit of a provider', () => {
  it('is another one once the provider has another address', async () => {
    const circuits = new Circuits({}, new Meter());
    const settings = { kind: 'custom', baseUrl: 'http://one.test/v1' } as const;
    const circuit = circuits.of('mine', settings);
    for (let at = 0; at < FAILURES; at += 1) await (await circuit.admit()).failed();
    await refused(circuits.of('mine', settings));
    await circuits.of('mine', { ...settings, baseUrl: 'http://other.test/v1' }).admit();
  });

  it('opens after failures in a row, is tried by one request after a while, and closes when that is answered', async () => {
    const { circuit, pass, fail } = circuitAt();
    await fail(FAILURES - 1);
    assert.equal(circuit.opensAgainMs, undefined);
    await fail();
    assert.equal(circuit.opensAgainMs, START + OPEN_MS);
    await refused(circuit);
    pass(OPEN_MS);
    const probe = await circuit.admit();
    await refused(circuit);
    await probe.succeeded();
    assert.equal(circuit.opensAgainMs, undefined);
    await Promise.all([circuit.admit(), circuit.admit()]);
  });

  it('stays open twice as long after each try that fails, up to a bound, and is tried again where the caller of a try goes away', async () => {
    const { circuit, pass, fail } = circuitAt();
    await fail(FAILURES);
    let open = OPEN_MS;
    for (let tries = 0; tries < 6; tries += 1) {
      pass(open);
      await (await circuit.admit()).abandoned();
      await fail();
      await refused(circuit);
      open = Math.min(open * 2, LONGEST_OPEN_MS);
      pass(open - 1);
      await refused(circuit);
      pass(1 - open);
    }
    assert.equal(open, LONGEST_OPEN_MS);
  });

  it('is tried again at once where the clock was ahead when it opened', async () => {
    const { circuit, pass, fail } = circuitAt();
    await fail(FAILURES);
    pass(-3_600_000);
    const probe = await circuit.admit();
    await refused(circuit);
    await probe.succeeded();
  });

  it('does not open by failures between successes, or far apart', async () => {
    const { circuit, pass, fail } = circuitAt();
    for (let at = 0; at < 20; at += 1) {
      await fail(FAILURES - 1);
      await (await circuit.admit()).succeeded();
    }
    for (let at = 0; at < 20; at += 1) {
      await fail();
      pass(61_000);
    }
    assert.equal(circuit.opensAgainMs, undefined);
  });

  it('counts a request that hangs as a failure, and closes when it is answered after all', async () => {
    const { circuit } = circuitAt({ hangMs: 10 });
    const hanging = await Promise.all(Array.from({ length: FAILURES }, () => circuit.admit()));
    await until(() => circuit.opensAgainMs !== undefined);
    await refused(circuit);
    await hanging[0]?.succeeded();
    await hanging[1]?.failed();
    await circuit.admit();
  });

  it('lets no more requests wait for a provider that is silent', async () => {
    const { circuit, pass } = circuitAt();
    const waiting = await Promise.all(Array.from({ length: MOST_SILENT }, () => circuit.admit()));
    await (await circuit.admit()).abandoned();
    pass(20_000);
    await refused(circuit);
    waiting[0]?.answered();
    await circuit.admit();
  });
});

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { must, call } = callsOf(server);
await must('create_agent', { name: 'ada', displayName: 'Ada' });
const invoke = () => call('invoke_agent', { agent: 'ada', input: 'x' });
const healthOfProvider = async () => {
  const { integrations } = await mustCall(server, server.adminKey, 'get_system_health');
  return integrations.find(({ kind }: { kind: string }) => kind === 'model-provider');
};

async function metrics(): Promise<string> {
  const headers = { Authorization: `Bearer ${server.adminKey}` };
  return (await fetch(`${server.baseUrl}/api/v1/metrics`, { headers })).text();
}

it('a provider that fails again and again is left alone, says so everywhere, and is asked again when it works', async () => {
  provider.play(() => ({ status: 529, headers: { 'Retry-After': '600' } }));
  await until(async () => {
    const asked = provider.requests.length;
    await invoke();
    return provider.requests.length === asked;
  });
  const answer = await rest(server, 'POST', '/api/v1/chat', {
    key: server.adminKey,
    body: { message: 'x', agentId: 'ada' },
  });
  assert.deepEqual([answer.status, answer.body.code], [503, 'unavailable']);
  assert.match(answer.body.error, /is not asked before 20.*list_models/);
  assert.ok(Number(answer.headers.get('retry-after')) > 5);
  const health = await healthOfProvider();
  assert.equal(health.status, 'down');
  assert.match(health.lastError, /asked again at/);
  const { data } = await must('list_models');
  assert.equal(data.find(({ id }: { id: string }) => id === 'custom/tiny').available, false);
  assert.match(await metrics(), /circuit_open\{gen_ai_provider_name="custom"\} 1/);
  provider.play(() => ({ text: 'Here again.' }));
  server.clock.pass(OPEN_MS);
  assert.equal((await must('invoke_agent', { agent: 'ada', input: 'x' })).text, 'Here again.');
  assert.equal((await healthOfProvider()).status, 'ok');
});

it('a provider that lets turns wait for longer than their agent does is left alone', async () => {
  provider.play(() => 'hang');
  await must('create_agent', { name: 'hasty', displayName: 'Hasty', timeoutSeconds: 1 });
  const hasty = () => call('invoke_agent', { agent: 'hasty', input: 'x' });
  const answers = await Promise.all(Array.from({ length: FAILURES }, hasty));
  for (const answer of answers)
    assert.match('error' in answer ? answer.error.error : '', /silent for 1 seconds|not asked before/);
  const asked = provider.requests.length;
  const answer = await hasty();
  assert.match('error' in answer ? answer.error.error : '', /is not asked before/);
  assert.equal(provider.requests.length, asked);
  provider.play(() => ({ text: 'Here again.' }));
  server.clock.pass(OPEN_MS);
  await must('invoke_agent', { agent: 'hasty', input: 'x' });
});

it('refusals and too many requests do not keep others from a provider', async () => {
  for (const status of [400, 401, 404, 429]) {
    provider.play(() => ({ status, headers: { 'Retry-After': '600' } }));
    for (let at = 0; at < FAILURES + 1; at += 1) await invoke();
  }
  provider.play(() => ({ text: 'Here.' }));
  assert.equal((await must('invoke_agent', { agent: 'ada', input: 'x' })).text, 'Here.');
});
