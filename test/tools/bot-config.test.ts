import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalize } from 'json-canonicalize';
import { makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();

const ask = (method: string, path: string, body?: unknown, key = server.adminKey) =>
  rest(server, method, `/api/v1${path}`, { key, body });
const put = (body: unknown) => ask('PUT', '/bot-config', body);
const history = '/versions/agent-config/bot-config';

describe('get_bot_config', () => {
  it('answers before the first write, with a history of one', async () => {
    const { status, body } = await ask('GET', '/bot-config');
    assert.equal(status, 200);
    assert.deepEqual([body.promptConfigVersion, body.revision, body.defaultModel], [1, 1, 'offline/rehearsal']);
    assert.equal(body.systemPrompt, Object.values(body.promptSections).join('\n\n'));
    const { body: versions } = await ask('GET', history);
    assert.deepEqual(pluck(versions.data, 'revision', 'author'), [
      [1, { type: 'server', id: 'agent-admin', name: 'agent-admin' }],
    ]);
  });
});

describe('update_bot_config', () => {
  it('replaces the given members, keeps the others, and composes the prompt in the given order', async () => {
    const sections = { zeta: 'Last letter first.', alpha: '', 'the 3rd': 'Third.' };
    const { status, body } = await put({ promptSections: sections });
    assert.equal(status, 200);
    assert.deepEqual(Object.entries(body.promptSections), Object.entries(sections));
    assert.equal(body.systemPrompt, 'Last letter first.\n\n\n\nThird.');
    assert.equal(body.maxTokens, 4096);
    const again = await put({ maxTokens: 1024 });
    assert.deepEqual(again.body.promptSections, sections);
    assert.deepEqual([again.body.maxTokens, again.body.promptConfigVersion], [1024, body.promptConfigVersion]);
  });

  it('counts changes of the sections, another order included, and nothing else', async () => {
    const count = async (body: unknown) => {
      const answer = await put(body);
      assert.equal(answer.status, 200);
      return [answer.body.promptConfigVersion, answer.body.revision];
    };
    const [version, revision] = await count({ promptSections: { a: '1', b: '2' } });
    assert.deepEqual(await count({ promptSections: { a: '1', b: '2' } }), [version, revision]);
    assert.deepEqual(await count({ promptSections: { b: '2', a: '1' } }), [version + 1, revision + 1]);
    assert.deepEqual(await count({ maxTokens: 32768 }), [version + 1, revision + 2]);
    assert.deepEqual(await count({ promptSections: {}, maxTokens: 2048 }), [version + 2, revision + 3]);
  });

  it('refuses what does not fit, each by name', async () => {
    const refused = async (body: unknown): Promise<[string, string][]> => {
      const answer = await put(body);
      assert.equal(answer.status, 400, JSON.stringify(body));
      return pluck(answer.body.issues, 'path', 'message');
    };
    const bounds = await refused({ maxTokens: 1023, defaultModel: '' });
    assert.deepEqual(bounds.map(([path]) => path).sort(), ['defaultModel', 'maxTokens']);
    for (const maxTokens of [32769, 2048.5, '2048', null]) await refused({ maxTokens });
    const [[path, message] = []] = await refused({ promptSections: { role: 'x', '7': 'seven' } });
    assert.deepEqual([path, /is an integer/.test(message ?? '')], ['promptSections.7', true]);
    for (const name of ['-1', '', '007']) await refused({ promptSections: { [name]: 'x' } });
    await refused('{"promptSections": {"__proto__": "x"}}');
    await refused({ promptSections: { role: 1 } });
    assert.match((await refused({ systemPrompt: 'x' }))[0]?.[1] ?? '', /"systemPrompt" is composed by the server/);
    assert.match((await refused({ promptConfigVersion: 9 }))[0]?.[1] ?? '', /counted by the server/);
    const [[where, model] = []] = await refused({ defaultModel: 'nobody/none' });
    assert.deepEqual([where, /list_models shows: offline/.test(model ?? '')], ['defaultModel', true]);
  });

  it('lets one of several writers with the same expectedRevision win', async () => {
    const { revision } = (await ask('GET', '/bot-config')).body;
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => put({ promptSections: { n: String(n) }, expectedRevision: revision })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
    const stale = answers.find(({ status }) => status === 409);
    assert.equal(stale?.body.currentRevision, revision + 1);
  });

  it('needs settings:write or admin', async () => {
    const reader = await makeKey(server, { grants: ['settings:read'] });
    assert.equal((await ask('GET', '/bot-config', undefined, reader)).status, 200);
    const refused = await ask('PUT', '/bot-config', { maxTokens: 2048 }, reader);
    assert.deepEqual([refused.status, refused.body.required], [403, { scope: 'admin', grant: 'settings:write' }]);
    const writer = await makeKey(server, { scopes: ['write'] });
    assert.equal((await ask('GET', '/bot-config', undefined, writer)).status, 403);
  });
});

describe('the history of the bot config', () => {
  it('keeps the order, shows what changed by section, and restores with a new prompt version', async () => {
    await put({ promptSections: { second: 'two', first: 'one' }, maxTokens: 4096 });
    const old = (await ask('GET', history)).body.data[0];
    assert.deepEqual(old.payload.promptSections, [
      { name: 'second', text: 'two' },
      { name: 'first', text: 'one' },
    ]);
    assert.equal(old.content, canonicalize(old.payload));
    const changed = (await put({ promptSections: { second: 'two', first: '1' }, maxTokens: 8192 })).body;
    const latest = (await ask('GET', history)).body.data[0];
    const { body: diff } = await ask('GET', `${history}/${latest.id}/diff`);
    assert.deepEqual(pluck(diff.changes, 'path').sort(), [
      '/maxTokens',
      '/promptConfigVersion',
      '/promptSections/1/text',
    ]);
    const stale = await ask('POST', `${history}/${old.id}/restore`, { expectedRevision: latest.revision - 1 });
    assert.deepEqual([stale.status, stale.body.currentRevision], [409, latest.revision]);
    const restored = await ask('POST', `${history}/${old.id}/restore`, { expectedRevision: latest.revision });
    assert.deepEqual([restored.status, restored.body.kind], [200, 'restore']);
    const { body } = await ask('GET', '/bot-config');
    assert.equal(body.systemPrompt, 'two\n\none');
    assert.deepEqual([body.maxTokens, body.promptConfigVersion], [4096, changed.promptConfigVersion + 1]);
    const again = await ask('POST', `${history}/${old.id}/restore`);
    assert.deepEqual(again.body, restored.body);
  });

  it('follows the rights on settings', async () => {
    const reader = await makeKey(server, { grants: ['settings:read'] });
    const plain = await makeKey(server, { scopes: ['write'] });
    const { body } = await ask('GET', history, undefined, reader);
    assert.ok(body.data.length > 1);
    const restore = await ask('POST', `${history}/${body.data[0].id}/restore`, {}, reader);
    assert.deepEqual([restore.status, restore.body.required], [403, { scope: 'admin', grant: 'settings:write' }]);
    assert.equal((await ask('GET', history, undefined, plain)).status, 403);
  });
});
