import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { createModels } from '../../tools/core/models/models.ts';
import { Meter } from '../../tools/core/telemetry/meter.ts';
import { prometheusText } from '../../tools/core/telemetry/prometheus.ts';
import { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { FULL } from '../support/full.ts';
import { send } from '../support/http.ts';
import { pluck } from '../support/pluck.ts';
import { readPrometheus, type Sample } from '../support/prometheus-format.ts';
import { serverForTests } from '../support/server.ts';
import { until } from '../support/until.ts';

const server = serverForTests();
const { must, refused } = callsOf(server);

async function scrape(key = server.adminKey): Promise<string> {
  const { status, headers, text } = await send(`${server.baseUrl}/api/v1/metrics`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  assert.equal(status, 200, text);
  assert.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  return text;
}

const of = (samples: readonly Sample[], name: string, labels: object = {}) =>
  samples.filter((sample) => {
    const wanted = Object.entries(labels);
    return sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value);
  });

/** Why Debian's checker is not to be had here; undefined where it is. */
const lacksPromtool = spawnSync('promtool', ['--version']).error && 'promtool (of Debian: prometheus) is not here';

describe('get_metrics', () => {
  it('counts each call by tool, door and error, once, also where call_tool stands for it', async () => {
    await must('list_agents');
    await must('call_tool', { name: 'list_agents', arguments: {} });
    await rest(server, 'GET', '/api/v1/agents', { key: server.adminKey });
    await refused('get_agent', { id: 'agt_01m4vpaj0ve009cqdv3j3n1a17' });
    await refused('call_tool', { name: 7 });
    const samples = readPrometheus(await scrape());
    const calls = (tool: string, door: string, error?: string) =>
      of(samples, 'agent_admin_calls_total', { gen_ai_tool_name: tool, agent_admin_door: door, error_type: error })[0]
        ?.value;
    assert.deepEqual([calls('list_agents', 'mcp'), calls('list_agents', 'rest')], [2, 1]);
    assert.equal(calls('get_agent', 'mcp', 'not_found'), 1);
    assert.deepEqual([calls('call_tool', 'mcp', 'invalid_input'), calls('call_tool', 'mcp')], [1, undefined]);
    const [times] = of(samples, 'gen_ai_execute_tool_duration_seconds_count', { gen_ai_tool_name: 'list_agents' });
    assert.equal(times?.value, 3);
  });

  it('measures requests by their route, messages by their method, transactions, jobs, the event loop and the process', async () => {
    await rest(server, 'GET', '/api/v1/agents/agt_01m4vpaj0ve009cqdv3j3n1a17', { key: server.adminKey });
    await must('create_skill', { name: 'measured', instructions: 'x' });
    let samples: Sample[] = [];
    // Of the event loop there is something to tell when it has turned for a while since it was asked last.
    await until(async () => {
      samples = readPrometheus(await scrape());
      return of(samples, 'nodejs_eventloop_delay_p99_seconds').length > 0;
    });
    const one = (name: string, labels: object = {}) => of(samples, name, labels)[0]?.value ?? assert.fail(name);
    const request = { http_request_method: 'GET', http_route: '/api/v1/agents/{id}', http_response_status_code: '404' };
    assert.equal(one('http_server_request_duration_seconds_count', request), 1);
    assert.ok(one('mcp_server_operation_duration_seconds_count', { mcp_method_name: 'tools/call' }) > 0);
    assert.ok(one('db_client_operation_duration_seconds_count', { db_operation_name: 'transaction' }) > 0);
    assert.equal(one('agent_admin_store_writable'), 1);
    assert.equal(one('agent_admin_flow_runs_open', { agent_admin_flow_run_status: 'queued' }), 0);
    assert.equal(one('agent_admin_jobs_open'), 0);
    assert.ok(one('process_cpu_seconds_total') > 0 && one('process_resident_memory_bytes') > 1e6);
    assert.ok(one('nodejs_eventloop_delay_p99_seconds') >= 0 && one('nodejs_eventloop_utilization') > 0);
  });

  it('has no ids, and of tools no names but those of the own catalog', async () => {
    await refused('made_up_by_a_caller', {}).catch(() => {});
    const message = { jsonrpc: '2.0', id: 1, method: 'made/up-by-a-caller' };
    await rest(server, 'POST', '/api/v1/mcp', { key: server.adminKey, body: message });
    await rest(server, 'GET', '/api/v1/made-up-by-a-caller', { key: server.adminKey });
    const text = await scrape();
    assert.doesNotMatch(text, /made.up/);
    assert.doesNotMatch(text, /[a-z]{3}_[0-9a-z]{26}/);
    assert.equal(of(readPrometheus(text), 'agent_admin_calls_total', { gen_ai_tool_name: '(unknown)' })[0]?.value, 1);
    assert.ok(
      of(readPrometheus(text), 'mcp_server_operation_duration_seconds_count', { mcp_method_name: '_OTHER' })[0],
    );
  });

  it('is for those with system:read, at its own path alone, and audited', async () => {
    await scrape(await makeKey(server, { grants: ['system:read'] }));
    await scrape(await makeKey(server, { scopes: ['agents:read'] }));
    const other = await makeKey(server, { grants: ['agent:read'] });
    assert.equal((await rest(server, 'GET', '/api/v1/metrics', { key: other })).status, 403);
    assert.equal((await rest(server, 'GET', '/api/v1/metrics')).status, 401);
    assert.equal((await rest(server, 'GET', '/api/v1/metrics?x=1', { key: server.adminKey })).status, 400);
    assert.equal((await rest(server, 'POST', '/api/v1/metrics', { key: server.adminKey })).status, 405);
    const { data } = await must('list_audit_entries', { tool: 'get_metrics', outcome: 'denied' });
    assert.equal(data.length, 1);
  });

  it("is text that Debian's promtool accepts", { skip: !FULL && lacksPromtool }, async () => {
    assert.equal(lacksPromtool, undefined);
    const { status, stderr, stdout } = spawnSync('promtool', ['check', 'metrics'], { input: await scrape() });
    assert.equal(`${stdout}${stderr}`, '');
    assert.equal(status, 0);
  });
});

describe('the text for Prometheus', () => {
  it('takes any value of a label and any number', async () => {
    const meter = new Meter();
    const hostile = 'a"b\\c\nd{}=,é';
    meter
      .counter({ name: 'x.y', unit: '{z}', help: 'Help \\ with\nlines.', labels: ['l.m'] })
      .point(hostile)
      .add(1.5e300);
    const histogram = meter.histogram({ name: 'h', unit: 's', help: 'H.', labels: ['l', 'm'] }, [0.1, 1]);
    for (const value of [0.1, 0.100001, 1, 5]) histogram.record(value, hostile, '');
    const text = prometheusText(await meter.read());
    const samples = readPrometheus(text);
    assert.deepEqual(samples[0], { name: 'x_y_total', labels: { l_m: 'a\\"b\\\\c\\nd{}=,é' }, value: 1.5e300 });
    assert.deepEqual(
      pluck(
        samples.filter(({ name }) => name === 'h_seconds_bucket'),
        'value',
      ),
      [1, 3, 4],
    );
    if (lacksPromtool) return;
    assert.equal(spawnSync('promtool', ['check', 'metrics'], { input: text }).status, 0);
  });

  it('leaves out what cannot be read now, and what has no value yet', async () => {
    const meter = new Meter();
    meter.observe(() => Promise.reject(new Error('away')));
    meter.counter({ name: 'none', unit: '1', help: 'Nothing.' });
    assert.deepEqual(await meter.read(), []);
  });
});

it('a question to a model is measured to the end of its answer, also where nobody reads on', async () => {
  const telemetry = new Telemetry();
  const model = createModels({}, telemetry).find('offline/rehearsal') ?? assert.fail('it is built in');
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];
  const { stream } = await model.doStream({ prompt });
  const parts: string[] = [];
  for await (const { type } of stream) parts.push(type);
  assert.equal(parts.at(-1), 'finish');
  const cut = await model.doStream({ prompt });
  await cut.stream.cancel();
  const samples = readPrometheus(prometheusText(await telemetry.measures.meter.read()));
  const count = (error: string | undefined) =>
    of(samples, 'gen_ai_client_operation_duration_seconds_count', { error_type: error })[0]?.value;
  assert.deepEqual([count(undefined), count('cancelled')], [1, 1]);
});
