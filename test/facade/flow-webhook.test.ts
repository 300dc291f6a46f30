import assert from 'node:assert/strict';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { callsOf, rest } from '../support/calls.ts';
import { send } from '../support/http.ts';
import { serverForTests } from '../support/server.ts';
import { until } from '../support/until.ts';
import { generic, github, type Sender, type Sent, slack, triggerFor } from '../support/webhook-senders.ts';

const server = serverForTests();
const { must: ask } = callsOf(server);
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
      assert.deepEqual(Object.keys(body.steps[0]).sort(), 'attempts finishedAt id startedAt status tool'.split(' '));
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

describe('a signed delivery', () => {
  const seconds = () => Math.floor(server.clock.now().getTime() / 1000);
  const post = (id: string, { headers, body }: Sent) =>
    send(`${server.baseUrl}/api/v1/agents/flows/${id}/trigger`, { method: 'POST', headers: { ...headers }, body });
  const flowFor = (sender: Sender, members: object = {}) =>
    ask('create_flow', {
      name: 'hook',
      trigger: triggerFor(sender),
      steps: [{ id: 'a', tool: 'list_agents', arguments: {} }],
      ...members,
    });

  it('needs no key, is answered at once, and begins a run', async () => {
    for (const [sender, status] of [
      [github, 202],
      [slack, 200],
      [generic, 202],
    ] as const) {
      const { id } = await flowFor(sender);
      const sent = sender.sign('{"n": 1}', seconds());
      const { status: given, text } = await post(id, sent);
      assert.equal(given, status);
      if (sender === slack)
        assert.equal(text, ''); // it would be shown to people
      else assert.deepEqual(Object.keys(JSON.parse(text)).sort(), ['id', 'outcome', 'runId']);
      assert.equal((await post(id, sent)).status, 200);
      await until(async () => (await ask('list_flow_runs', { id })).data[0]?.status === 'succeeded');
      const { data } = await ask('list_audit_entries', { door: 'webhook', recordId: id });
      assert.deepEqual(
        data.map(({ tool, outcome }: AuditEntry) => `${tool} ${outcome}`),
        ['receive_webhook ok'],
      );
    }
    const hook = await flowFor(slack);
    const asked = slack.sign('{"type": "url_verification", "challenge": "say this"}', seconds());
    assert.deepEqual(JSON.parse((await post(hook.id, asked)).text), { challenge: 'say this' });
  });

  it('takes the name of the flow, unless several flows have it', async () => {
    const named = await flowFor(github, { name: 'by name / 1' });
    const sent = github.sign('{"n": 1}', seconds());
    assert.equal((await post(encodeURIComponent('by name / 1'), sent)).status, 202);
    assert.equal((await ask('list_flow_deliveries', { id: named.id })).data[0].outcome, 'run');
    await flowFor(github, { name: 'by name / 1' });
    assert.equal((await post(encodeURIComponent('by name / 1'), sent)).status, 401);
  });

  it('with a number that is too large for JSON is refused, at any depth', async () => {
    const { id } = await flowFor(github);
    for (const text of ['{"a":{"b":[1e400]}}', '-1e400']) {
      const { status, text: said } = await post(id, github.sign(text, seconds()));
      assert.deepEqual([status, JSON.parse(said).code], [400, 'invalid_input'], said);
      assert.match(JSON.parse(said).error, /^input(\.a\.b\.0)?: The number is larger than any of JSON; write/);
      const key = await hook(id);
      const triggered = await send(`${server.baseUrl}/api/v1/agents/flows/${id}/trigger`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: `{"input":{"a":${text}}}`,
      });
      assert.equal(triggered.status, 400, triggered.text);
    }
    assert.equal((await ask('list_flow_deliveries', { id })).data[0].outcome, 'refused');
  });

  it('is answered the same where the signature is bad, the flow unknown, gone, or takes none', async () => {
    const { id } = await flowFor(github);
    const gone = await flowFor(github);
    await ask('delete_flow', { id: gone.id });
    const plain = await ask('create_flow', { name: 'x', trigger: { kind: 'webhook' } });
    const sent = github.sign('{"n": 1}', 0);
    const forged = { ...sent, body: '{"n": 2}' };
    const late = generic.sign('{}', seconds() - 301);
    const timed = await flowFor(generic);
    const answers: string[] = [];
    for (const [flowId, what] of [
      [id, forged],
      ['flw_none', sent],
      ['%20', sent],
      [gone.id, sent],
      [plain.id, sent],
      [timed.id, late],
      [id, { headers: { 'content-type': 'application/json' }, body: '{}' }],
    ] as const) {
      const { status, text, headers } = await post(flowId, what);
      const { requestId: _, ...body } = JSON.parse(text);
      answers.push(JSON.stringify([status, body, headers.get('www-authenticate'), [...headers.keys()].sort()]));
    }
    assert.deepEqual(new Set(answers).size, 1, answers.join('\n'));
    assert.match(answers[0] ?? '', /^\[401,/);
  });

  it('does not make up for a bad key, and opens nothing else', async () => {
    const { id } = await flowFor(github);
    const sent = github.sign('{"n": 1}', 0);
    const withKey = { ...sent, headers: { ...sent.headers, authorization: 'Bearer ak_none' } };
    assert.equal((await post(id, withKey)).status, 401);
    for (const path of [`/flows/${id}`, '/flows', `/flows/${id}/trigger/x`]) {
      for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
        const init = { method, headers: { ...sent.headers }, ...(method !== 'GET' && { body: sent.body }) };
        assert.equal((await send(`${server.baseUrl}/api/v1/agents${path}`, init)).status, 401, `${method} ${path}`);
      }
    }
    assert.equal((await ask('list_flow_runs', { id })).data.length, 0);
  });

  it('has each header of its signature once', async () => {
    const { id } = await flowFor(github);
    const { headers, body } = github.sign('{"n": 1}', 0);
    const signature = headers['x-hub-signature-256'] ?? '';
    const twice = { ...headers, 'x-hub-signature-256': [signature, signature] };
    const status = await new Promise((resolve, reject) => {
      const path = `${server.baseUrl}/api/v1/agents/flows/${id}/trigger`;
      const asking = request(path, { method: 'POST', headers: twice }, (answer) => resolve(answer.resume().statusCode));
      asking.once('error', reject).end(body);
    });
    assert.equal(status, 401);
    assert.equal((await post(id, { headers, body })).status, 202);
  });

  it('is refused before it is looked at where it is too large, compressed, from a foreign page or for a foreign host', async () => {
    const { id } = await flowFor(github);
    const large = { ...github.sign('{}', 0), body: ' '.repeat(1024 * 1024 + 1) };
    for (const flowId of [id, 'flw_none']) {
      assert.equal((await post(flowId, large)).status, 413);
      for (const [name, value, status] of [
        ['content-encoding', 'gzip', 415],
        ['origin', 'https://evil.example', 403],
      ] as const) {
        const { headers, body } = github.sign('{}', 0);
        assert.equal((await post(flowId, { headers: { ...headers, [name]: value }, body })).status, status, name);
      }
    }
    const { data } = await ask('list_flow_deliveries', { id });
    assert.deepEqual(data, []);
  });

  it('is refused where one address sends too many, whatever it sends', async () => {
    const { id } = await flowFor(github);
    const forged = { ...github.sign('{}', 0), body: '{"n": 1}' };
    const statuses = new Map<number, number>();
    for (let sent = 0; sent < 700; sent += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => post(id, forged)));
      for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    assert.deepEqual([...statuses.keys()].sort(), [401, 429]);
    assert.ok((statuses.get(401) ?? 0) <= 600);
    assert.equal((await post(id, github.sign('{}', 0))).status, 429);
  });
});
