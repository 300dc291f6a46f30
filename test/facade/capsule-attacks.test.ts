import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { callsOf } from '../support/calls.ts';
import { type Capsule, capsuleClients } from '../support/capsules.ts';
import { pluck } from '../support/pluck.ts';
import { serverForTests } from '../support/server.ts';
import { writing } from '../support/writing.ts';
import type { Params } from './mcp-requests.ts';

const server = serverForTests({ RATE_LIMIT_PER_MINUTE: '0' });
const { must: admin, refused } = callsOf({
  get baseUrl() {
    return server.baseUrl;
  },
  get adminKey() {
    return server.adminKey;
  },
});
const { make, ask, call, listed, endpoint } = capsuleClients(() => server);

/** One project with a document that the holder of the token may see, and one with a document that it may not. */
let [mine, theirs] = ['', ''];
let [own, secret] = ['', ''];

const READS = ['list_documents', 'get_document', 'search', 'list_versions', 'get_version', 'diff_version'];
const CHANGES = ['update_document', 'delete_document', 'restore_version'];
const held = (more: object = {}): Promise<Capsule> =>
  make({ allowedTools: [...READS, ...CHANGES], constraints: { list_documents: { projectId: mine } }, ...more });

describe('the holder of the token of a capsule that is held to one project', () => {
  before(async () => {
    mine = (await admin('create_project', { name: 'Mine' })).id;
    theirs = (await admin('create_project', { name: 'Theirs' })).id;
    own = (await admin('create_document', { title: 'own plans', content: 'x', projectId: mine })).id;
    secret = (await admin('create_document', { title: 'secret plans', content: 'hidden', projectId: theirs })).id;
  });
  it('comes to no other document by any tool, called directly or by call_tool', async () => {
    const capsule = await held();
    const { data } = await admin('list_versions', { entityType: 'document', entityId: secret });
    const history = { entityType: 'document', entityId: secret, versionId: data[0].id };
    const attempts: [string, Params][] = [
      ['get_document', { id: secret }],
      ['update_document', { id: secret, title: 'x' }],
      ['delete_document', { id: secret }],
      ['list_versions', { entityType: 'document', entityId: secret }],
      ['get_version', history],
      ['diff_version', history],
      ['restore_version', history],
    ];
    for (const [name, input] of attempts) {
      const direct = await call(capsule, name, input);
      const within = await call(capsule, 'call_tool', { name, arguments: input });
      for (const answer of [direct, within]) {
        assert.equal(answer.code, 'forbidden', `${name}: ${JSON.stringify(answer)}`);
        assert.ok(!JSON.stringify(answer).includes('secret plans'));
      }
    }
    assert.match(
      (await call(capsule, 'get_document', { id: secret })).issues[0].message,
      /list_documents \(projectId\)/,
    );
    assert.equal((await call(capsule, 'get_document', { id: own })).id, own);
    const { data: hits, facets } = await call(capsule, 'search', { q: 'plans' });
    assert.deepEqual([hits.map(({ id }: Params) => id), facets], [[own], { document: 1 }]);
    assert.equal((await admin('get_document', { id: secret })).title, 'secret plans');
  });

  it('gives none of what is fixed, in whatever form', async () => {
    const capsule = await held();
    const forms = ['{"projectId": null}', `{"projectId": "${theirs}"}`, '{"projectId": ["x"]}', '{"projectId": "*"}'];
    for (const form of [...forms, '{"__proto__": {"projectId": "x"}}', '{"constructor": {"projectId": "x"}}']) {
      const input = JSON.parse(form);
      assert.equal((await call(capsule, 'list_documents', input)).code, 'invalid_input', form);
      assert.equal(
        (await call(capsule, 'call_tool', { name: 'list_documents', arguments: input })).code,
        'invalid_input',
      );
    }
    const described = await call(capsule, 'describe_tool', { name: 'list_documents' });
    assert.ok(!('projectId' in described.inputSchema.properties));
  });

  it('reads no other as a resource, is offered none and hears of none', async () => {
    const capsule = await held();
    const { body: read } = await ask(capsule, 'resources/read', { uri: `document://${secret}` });
    assert.ok(read.error && !JSON.stringify(read).includes('hidden'));
    assert.ok((await ask(capsule, 'resources/read', { uri: `document://${own}` })).body.result);
    const { body: all } = await ask(capsule, 'resources/list');
    assert.deepEqual(pluck(all.result.resources, 'uri'), [`document://${own}`]);
    for (const uri of ['document://{id}', 'version://{id}']) {
      const asked = { ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: 'secret' } };
      assert.ok(!JSON.stringify((await ask(capsule, 'completion/complete', asked)).body).includes(secret));
    }
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { Authorization: `Bearer ${capsule.token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(endpoint(capsule.id)), { requestInit }));
    const told: string[] = [];
    const heard = new Promise<void>((resolve) => {
      client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
        told.push(uri);
        if (uri === `document://${own}`) resolve();
      });
    });
    await client.listen({ resourceSubscriptions: [`document://${secret}`, `document://${own}`] });
    await admin('update_document', { id: secret, content: 'hidden still' });
    await admin('update_document', { id: own, content: 'seen' });
    await heard;
    assert.deepEqual(told, [`document://${own}`]);
    await client.close();
  });

  it('gets nothing by an idempotency key or a cursor from before it was held', async () => {
    const capsule = await held({ allowedTools: [...READS, ...CHANGES, 'create_document'], constraints: undefined });
    const repeat = (name: string, input: Params) =>
      ask(capsule, 'tools/call', { name, arguments: input, _meta: { idempotencyKey: name } });
    const update = { id: secret, tags: ['seen'] };
    assert.ok(JSON.stringify((await repeat('update_document', update)).body).includes('secret plans'));
    const creation = { title: 'plans of before', content: 'x', projectId: theirs };
    const made = (await repeat('create_document', creation)).body.result.structuredContent;
    assert.equal((await repeat('create_document', creation)).body.result.structuredContent.id, made.id);
    const first = await call(capsule, 'list_documents', { limit: 1 });
    const found = await call(capsule, 'search', { q: 'plans', limit: 1 });
    await admin('update_capsule', { id: capsule.id, constraints: { list_documents: { projectId: mine } } });

    const { body } = await repeat('update_document', update);
    assert.equal(JSON.parse(body.result.content[0].text).code, 'forbidden');
    const { body: again } = await repeat('create_document', creation);
    assert.match(
      JSON.parse(again.result.content[0].text).error,
      /your limit to some tools or fixed arguments has changed/,
    );
    const next = await call(capsule, 'list_documents', { limit: 1, cursor: first.nextCursor });
    assert.deepEqual([next.code, next.issues[0].path], ['invalid_input', 'cursor']);
    const more = await call(capsule, 'search', { q: 'plans', limit: 100, cursor: found.nextCursor });
    assert.ok(!JSON.stringify(more).includes(secret));
  });

  it('is held so by what it makes: reports, flows and agents', async () => {
    const allowedTools = [...READS, 'create_report', 'get_report', 'create_flow', 'create_agent'];
    const capsule = await held({ allowedTools });
    const query = { tool: 'get_document', arguments: { id: secret } };
    assert.equal((await call(capsule, 'create_report', { title: 'r', query })).code, 'forbidden');
    const report = await admin('create_report', { title: 'r', query });
    const shown = await call(capsule, 'get_report', { id: report.id, render: true });
    assert.deepEqual([shown.code, JSON.stringify(shown).includes('hidden')], ['forbidden', false]);
    const steps = [{ id: 'one', tool: 'get_document', arguments: { id: secret } }];
    assert.equal((await call(capsule, 'create_flow', { name: 'f', steps })).code, 'forbidden');
    const agent = { name: 'spy', displayName: 'Spy', tools: ['get_document'] };
    assert.equal((await call(capsule, 'create_agent', agent)).code, 'forbidden');
  });
});

it('constraints of version tools hold for every other way into a history', async () => {
  const capsule = await make({
    allowedTools: [...READS, 'update_document', 'restore_version'],
    constraints: { list_versions: { entityType: 'document', entityId: own } },
  });
  const versionOf = async (entityId: string) =>
    (await admin('list_versions', { entityType: 'document', entityId })).data.at(-1).id;
  const at = async (entityId: string) => ({ entityType: 'document', entityId, versionId: await versionOf(entityId) });
  assert.equal((await call(capsule, 'list_versions')).data.at(-1).entityId, own);
  for (const tool of ['get_version', 'diff_version', 'restore_version']) {
    assert.equal((await call(capsule, tool, await at(secret))).code, 'forbidden', tool);
    assert.equal((await call(capsule, tool, await at(own))).code, undefined, tool);
  }
});

describe('constraints as they are written', () => {
  const bad: Readonly<Record<string, unknown>> = {
    'a glob in place of a tool': { 'get_*': { id: 'x' } },
    'a tool that there is not': { get_documents: { id: 'x' } },
    'no arguments': { get_document: {} },
    'null in place of arguments': { get_document: null },
    'a list in place of arguments': { get_document: ['id'] },
    'null in place of an id': { get_document: { id: null } },
    'a list of ids': { get_document: { id: ['doc_1', 'doc_2'] } },
    'an object in place of an id': { get_document: { id: { $ne: 'x' } } },
    'an argument that there is not': { get_document: { ids: 'x' } },
    'a filter of the wrong type': { list_documents: { projectId: 5 } },
  };
  for (const [what, constraints] of Object.entries(bad)) {
    it(`are refused with ${what}, in a draft too`, async () => {
      const body = { name: 'x', allowedTools: ['get_document', 'list_documents'], constraints };
      const { code, issues } = await refused('create_capsule', body);
      assert.equal(code, 'invalid_input');
      assert.match(issues?.[0]?.path ?? '', /^constraints/);
      assert.equal((await refused('preview_capsule', { draft: body })).code, 'invalid_input');
    });
  }

  it('leave nothing to callers if the tool no longer takes these arguments', async () => {
    const capsule = await held();
    const stale = { list_documents: { projectId: mine, folder: 'gone' }, get_document: { id: ['x'] } };
    await writing(server.store).capsules.update(capsule.id, { constraints: stale });
    assert.deepEqual((await listed(capsule)).sort(), ['get_document', 'list_documents', 'search']);
    assert.deepEqual((await call(capsule, 'search', { q: 'plans' })).data, []);
    for (const tool of ['get_document', 'list_documents'])
      assert.equal((await call(capsule, tool)).code, 'invalid_input');
  });
});
