import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { onLoopback } from '../support/loopback.ts';
import { startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const KEY = 'sk-very-secret-123456';
const far = await startModelServer(['tiny', 'large']);
const server = await startTestServer({ OPENAI_API_KEY: 'sk-of-the-environment', OPENAI_BASE_URL: far.baseUrl });
const { must, refused } = callsOf(server);
const lab = { name: 'lab', kind: 'openai-compatible', baseUrl: far.baseUrl, apiKey: KEY };
const made = await must('create_model_provider', { ...lab, headers: { 'X-Team': 'hidden-team-value' } });
const named = async (name: string) =>
  (await must('list_model_providers')).data.find((each: { name: string }) => each.name === name);

/** A server that answers everything like this. */
async function answering(status: number, body: string, headers: Record<string, string> = {}) {
  const http = createServer((_, response) => response.writeHead(status, headers).end(body));
  return (await onLoopback(http)).url;
}

let count = 0;
async function testOf(members: object, model = 'tiny') {
  count += 1;
  const { id } = await must('create_model_provider', { ...lab, name: `p${count}`, ...members });
  const tested = await must('test_model_provider', { id, model });
  await must('delete_model_provider', { id });
  assert.ok(!JSON.stringify(tested).includes(KEY));
  return tested;
}

describe('create_model_provider', () => {
  it('offers the models at once, and sends key and headers to the address alone', async () => {
    const { data } = await must('list_models');
    assert.ok(pluck(data, 'id').flat().includes('lab/tiny'));
    const { id } = await must('create_agent', { name: 'worker', displayName: 'Worker', modelPreference: 'lab/tiny' });
    await must('invoke_agent', { agent: id, input: 'Hello' });
    const last = far.requests.at(-1);
    assert.equal(last?.authorization, `Bearer ${KEY}`);
    assert.equal(last?.headers['x-team'], 'hidden-team-value');
    await must('update_agent', { id, modelPreference: null });
  });

  it('never shows a secret, in answers or in the audit log', async () => {
    assert.deepEqual([made.apiKey, made.headers], ['•••', { 'X-Team': '•••' }]);
    const seen = JSON.stringify([
      made,
      await must('list_model_providers'),
      await must('list_audit_entries', { limit: 100 }),
    ]);
    for (const secret of [KEY, 'hidden-team-value', 'sk-of-the-environment']) assert.ok(!seen.includes(secret), secret);
  });

  it('refuses reserved names, names of the environment and of others, and a missing address', async () => {
    for (const name of ['offline', 'custom', 'openai']) {
      assert.equal((await refused('create_model_provider', { ...lab, name })).code, 'invalid_input');
    }
    assert.equal((await refused('create_model_provider', lab)).code, 'conflict');
    const { error } = await refused('create_model_provider', { name: 'x', kind: 'azure' });
    assert.match(error, /baseUrl: Is required for azure/);
  });
});

describe('list_model_providers', () => {
  it('has those of the environment, which nobody changes here', async () => {
    const { id, source, kind, baseUrl } = await named('openai');
    assert.deepEqual([source, kind, baseUrl], ['environment', 'openai', far.baseUrl]);
    assert.equal((await refused('update_model_provider', { id, enabled: false })).code, 'conflict');
    assert.equal((await refused('delete_model_provider', { id })).code, 'conflict');
    assert.equal((await must('test_model_provider', { id, model: 'tiny' })).ok, true);
  });
});

describe('update_model_provider', () => {
  it('asks for the secrets again for another origin or kind, and keeps them within one', async () => {
    const { id } = await must('create_model_provider', { ...lab, name: 'moving' });
    for (const change of [{ baseUrl: 'http://127.0.0.1:9/v1' }, { kind: 'anthropic' }]) {
      const { error } = await refused('update_model_provider', { id, ...change });
      assert.match(error, /apiKey: Was given for another kind or address/);
      await refused('update_model_provider', { id, ...change, apiKey: '•••' });
    }
    await must('update_model_provider', { id, baseUrl: `${far.baseUrl}/` });
    assert.equal((await must('test_model_provider', { id })).ok, true);
    await must('update_model_provider', { id, baseUrl: 'http://127.0.0.1:9/v1', apiKey: null });
    await must('delete_model_provider', { id });
  });

  it('lets one of two callers with the same revision through', async () => {
    const { id, revision } = await must('create_model_provider', { ...lab, name: 'raced' });
    const change = (name: string) =>
      must('update_model_provider', { id, models: [{ name }], expectedRevision: revision }).then(
        () => 'ok',
        () => 'refused',
      );
    assert.deepEqual((await Promise.all([change('one'), change('two')])).sort(), ['ok', 'refused']);
    await must('delete_model_provider', { id });
  });

  it('takes the models away while it is disabled', async () => {
    await must('update_model_provider', { id: made.id, enabled: false });
    assert.match((await refused('send_chat_message', { message: 'Hi', model: 'lab/tiny' })).error, /There is no model/);
    assert.equal((await named('lab')).status, 'disabled');
    await must('update_model_provider', { id: made.id, enabled: true });
    await must('send_chat_message', { message: 'Hi', model: 'lab/tiny' });
  });
});

describe('delete_model_provider', () => {
  it('is refused with the names of what uses its models', async () => {
    const { id } = await must('create_model_provider', { ...lab, name: 'used' });
    const agent = await must('create_agent', { name: 'user', displayName: 'User', modelPreference: 'used/tiny' });
    assert.match((await refused('delete_model_provider', { id })).error, /agent user/);
    assert.match((await refused('update_model_provider', { id, name: 'renamed' })).error, /agent user/);
    await must('delete_agent', { id: agent.id });
    await must('delete_model_provider', { id });
    assert.equal((await refused('send_chat_message', { message: 'Hi', model: 'used/tiny' })).code, 'invalid_input');
  });

  it('leaves what its models were used for at the cost that was counted, as a new name does', async () => {
    const { currency } = await must('get_settings');
    const price = { model: 'tiny', from: '2020-01-01', currency, input: 100, output: 1000 };
    const later = { ...price, from: '2190-01-01' };
    const costs = async () => {
      const { rows } = await must('get_usage', { by: 'model' });
      return ['paid/tiny', 'again/tiny'].map((model) => rows.find(({ key }: { key: string }) => key === model)?.cost);
    };
    const { id } = await must('create_model_provider', { ...lab, name: 'paid', prices: [price, later] });
    await must('send_chat_message', { message: 'Hi', model: 'paid/tiny' });
    assert.deepEqual(await costs(), [0.006, undefined]);
    await must('update_model_provider', { id, name: 'again' });
    await must('send_chat_message', { message: 'Hi', model: 'again/tiny' });
    assert.deepEqual(await costs(), [0.006, 0.006]);
    await must('delete_model_provider', { id });
    assert.deepEqual(await costs(), [0.006, 0.006]);
    const { prices } = await must('get_settings');
    assert.deepEqual(
      prices,
      ['paid/tiny', 'again/tiny'].map((model) => ({ ...price, model })),
    );
    const taken = { ...lab, name: 'full', prices: [price] };
    const full = await must('create_model_provider', taken);
    const many = Array.from({ length: 2000 }, (_, at) => ({ ...price, model: `x/${at}` }));
    await must('update_settings', { prices: many });
    assert.match((await refused('delete_model_provider', { id: full.id })).error, /no room for them; remove others/);
    await must('update_settings', { prices: [] });
    await must('delete_model_provider', { id: full.id });
  });

  it('leaves its name to one whose prices count: those that the settings would overrule are refused', async () => {
    const { currency } = await must('get_settings');
    const price = { model: 'tiny', from: '2020-01-01', currency, input: 100, output: 1000 };
    const dear = { ...price, input: 5000 };
    const today = () => server.clock.now().toISOString().slice(0, 10);
    const cost = async () => {
      const { rows } = await must('get_usage', { by: 'model' });
      return rows.find(({ key }: { key: string }) => key === 'heir/tiny')?.cost;
    };
    const heir = { ...lab, name: 'heir' };
    const { id: first } = await must('create_model_provider', { ...heir, prices: [price] });
    await must('send_chat_message', { message: 'Hi', model: 'heir/tiny' });
    await must('delete_model_provider', { id: first });
    for (const prices of [[dear], [{ ...dear, from: '2019-01-01' }]]) {
      const { code, error } = await refused('create_model_provider', { ...heir, prices });
      assert.equal(code, 'conflict');
      assert.match(error, new RegExp(`heir/tiny from 2020-01-01 on.*as ${today()} or later.*update_settings`));
    }
    const { id } = await must('create_model_provider', { ...heir, prices: [price] }); // the same price
    assert.match((await refused('update_model_provider', { id, prices: [dear] })).error, /update_settings/);
    const prices = [price, { ...dear, from: '2190-01-01' }];
    await must('update_model_provider', { id, prices });
    await must('update_settings', { prices: prices.map((each) => ({ ...each, input: 1, model: 'heir/tiny' })) });
    await must('update_model_provider', { id, enabled: true, prices }); // nothing new
    const later = [price, { ...dear, from: '2190-01-01', output: 7 }];
    assert.match((await refused('update_model_provider', { id, prices: later })).error, /as 2190-01-02 or later/);
    await must('update_settings', { prices: [{ ...price, model: 'heir/tiny' }] });
    const other = await must('create_model_provider', { ...lab, name: 'stranger', prices: [dear] });
    await must('delete_model_provider', { id });
    assert.match((await refused('update_model_provider', { id: other.id, name: 'heir' })).error, /heir\/tiny from/);
    server.clock.pass(24 * 3_600_000);
    await must('update_model_provider', { id: other.id, name: 'heir', prices: [{ ...dear, from: today() }] });
    assert.equal(await cost(), 0.006);
    await must('send_chat_message', { message: 'Hi', model: 'heir/tiny' });
    assert.equal(await cost(), 0.061);
    await must('delete_model_provider', { id: other.id });
    await must('update_settings', { prices: [] });
  });
});

describe('test_model_provider', () => {
  it('says that it works, and with which model', async () => {
    assert.deepEqual({ ...(await testOf({})), latencyMs: 0 }, { ok: true, latencyMs: 0, model: `p${count}/tiny` });
  });

  it('says in words what is wrong', async () => {
    const refusing = (message: string) => JSON.stringify({ error: { message, code: 'x' } });
    const cases: [number, string, RegExp][] = [
      [
        401,
        refusing(`Incorrect API key provided: ${KEY}`),
        /refused the key \(401\): Incorrect API key provided: \[redacted\]/,
      ],
      [429, refusing('You exceeded your current quota'), /quota of the key is used up/],
      [429, refusing('Slow down'), /accepts no more requests for now/],
      [503, refusing('x'.repeat(5000)), /^The provider failed \(503\): x{1,160}…?$/],
      [200, '<html>Welcome</html>', /not a server of models/],
      [302, '', /redirects/],
    ];
    for (const [status, body, problem] of cases) {
      const tested = await testOf({ baseUrl: await answering(status, body) });
      assert.equal(tested.ok, false);
      assert.match(tested.problem, problem);
      assert.ok(tested.nextStep);
    }
    assert.match((await testOf({ baseUrl: 'http://127.0.0.1:1/v1' })).problem, /could not be reached \(ECONNREFUSED\)/);
    assert.match((await testOf({ baseUrl: 'http://nowhere.invalid/v1' })).problem, /name of the address is not known/);
  });

  it('is what the state of a provider says from then on', async () => {
    const { id } = await must('create_model_provider', { ...lab, name: 'fresh' });
    const state = async () => (({ status, problem }) => [status, problem])(await named('fresh'));
    assert.deepEqual(await state(), ['unknown', undefined]);
    await must('test_model_provider', { id });
    assert.deepEqual(await state(), ['ok', undefined]);
    far.play(() => ({ status: 401, error: 'no such key' }));
    await must('test_model_provider', { id, model: 'tiny' });
    assert.equal((await state())[0], 'ok', 'one model says nothing of the others');
    await must('test_model_provider', { id });
    far.play(() => ({ text: 'Hello.' }));
    const [status, problem] = await state();
    assert.equal(status, 'down');
    assert.match(problem, /^The provider refused the key \(401\)/);
    await must('delete_model_provider', { id });
  });

  it('says that the model is unknown, and which there are', async () => {
    far.play(() => ({ status: 404, error: 'model not found' }));
    const { problem, nextStep } = await testOf({}, 'huge');
    far.play(() => ({ text: 'Hello.' }));
    assert.match(problem, /does not know the model "huge"/);
    assert.match(nextStep, /tiny, large/);
  });
});

it('only full access manages providers, and private addresses are for servers that allow them', async () => {
  const { secret } = await must('create_api_key', { name: 'part', scopes: ['write'] });
  assert.equal((await refused('create_model_provider', { ...lab, name: 'foreign' }, secret)).code, 'forbidden');
  const guarded = await startTestServer({ PRIVATE_UPSTREAMS: 'off' });
  const { error } = await callsOf(guarded).refused('create_model_provider', lab);
  assert.match(error, /private or local address/);
});
