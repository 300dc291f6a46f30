import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callTool, mustCall } from '../support/calls.ts';
import { capsuleClients } from '../support/capsules.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { connectHttp, type FakeUpstream, startUpstream, toolCalled } from '../support/upstream.ts';

let server: TestServer;
let fake: FakeUpstream;
let integration: string;
const { make, ask, listed } = capsuleClients(() => server);
const admin = (tool: string, input: object = {}) => mustCall(server, server.adminKey, tool, input);

const text = { type: 'string', maxLength: 5 };
const inputSchema = { type: 'object', properties: { text, times: { type: 'integer' } }, required: ['text'] };

before(async () => {
  [server, fake] = await Promise.all([startTestServer(), startUpstream(toolCalled('echo', { inputSchema }))]);
  ({ id: integration } = await connectHttp(server, fake.url, { toolPrefix: 'up' }));
});
after(() => Promise.all([server.close(), fake.close()]));

describe('a tool of an integration in a capsule', () => {
  it('is reached by its name or its prefix, never by a glob that means our own', async () => {
    for (const entry of ['up__echo', 'up__*'])
      assert.deepEqual(await listed(await make({ allowedTools: [entry] })), ['up__echo']);
    const all = await make({ allowedTools: ['*', '*echo'] });
    assert.ok(!(await listed(all)).includes('up__echo'));
    const { entries } = await admin('preview_capsule', { id: all.id });
    assert.match(entries[1].tools[0].rule, /of an integration/);
  });

  it('has fixed arguments like any other: checked when written, hidden, and in every call', async () => {
    const constraints = { up__echo: { text: 'fixed' } };
    const capsule = await make({ allowedTools: ['up__echo'], constraints });
    const { body } = await ask(capsule, 'tools/list');
    const [tool] = body.result.tools;
    assert.deepEqual(tool.inputSchema, { type: 'object', properties: { times: { type: 'integer' } } });
    const call = async (input: object) => {
      const { body } = await ask(capsule, 'tools/call', { name: 'up__echo', arguments: input });
      return body.result.isError ? JSON.parse(body.result.content[0].text).code : body.result.content[0].text;
    };
    assert.deepEqual(JSON.parse(await call({ times: 2 })), { text: 'fixed', times: 2 });
    assert.equal(await call({ text: 'own' }), 'invalid_input');
    for (const [fixed, path, message] of [
      [{ text: 'too long' }, 'constraints.up__echo.text', /./],
      [{ times: 'two' }, 'constraints.up__echo.times', /./],
      [{ txet: 'x' }, 'constraints.up__echo.txet', /choose among: text, times/],
    ] as const) {
      const answer = await callTool(server, server.adminKey, 'create_capsule', {
        name: 'x',
        allowedTools: ['up__echo'],
        constraints: { up__echo: fixed },
      });
      assert.ok('error' in answer, path);
      assert.deepEqual(
        answer.error.issues?.map((issue) => issue.path),
        [path],
      );
      assert.match(answer.error.issues?.[0]?.message ?? '', message);
    }
  });

  it('keeps its place while it is away, and its fixed arguments with it', async () => {
    const constraints = { up__echo: { text: 'fixed' } };
    const capsule = await make({ allowedTools: ['up__echo', 'list_agents'], constraints });
    await admin('update_integration', { id: integration, enabled: false });
    assert.deepEqual(await listed(capsule), ['list_agents']);
    const renamed = await admin('update_capsule', { id: capsule.id, name: 'renamed', constraints });
    assert.equal(renamed.warnings.length, 2);
    await admin('update_integration', { id: integration, enabled: true });
    assert.deepEqual(await listed(capsule), ['list_agents', 'up__echo']);
    assert.equal((await admin('get_capsule', { id: capsule.id })).warnings, undefined);
  });

  it('comes into a capsule whose glob means it once it is accepted, and not before', async () => {
    const capsule = await make({ allowedTools: ['up__*'] });
    fake.tools.push(toolCalled('more'));
    await admin('refresh_integration', { id: integration });
    assert.deepEqual(await listed(capsule), ['up__echo']);
    await admin('refresh_integration', { id: integration, accept: true });
    assert.deepEqual(await listed(capsule), ['up__echo', 'up__more']);
  });
});
