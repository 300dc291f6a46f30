import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { guides } from '../../facade/guides/guides.ts';
import { addresses } from '../../facade/mcp/addresses.ts';
import { catalog } from '../../tools/catalog.ts';
import { askedApproval, callTool, makeKey, mustCall } from '../support/calls.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { inEra, type Params, post } from './mcp-requests.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]).toString('base64');

const kinds = ['agent', 'skill', 'flow', 'thread', 'report', 'capsule', 'memory', 'project', 'goal', 'task'] as const;
const others = ['other', 'bare', 'document', 'text', 'picture', 'database'] as const;
type Made = Record<(typeof kinds)[number] | (typeof others)[number], string>;

let server: TestServer;
let made: Made;
let record: { id: string; databaseId: string };
let approvalId: string;
const keys = { admin: '', limited: '', nobody: '', goals: '' };

before(async () => {
  server = await startTestServer({ RATE_LIMIT_PER_MINUTE: '100000' });
  keys.admin = server.adminKey;
  const create = async (tool: string, input: object) => String((await mustCall(server, keys.admin, tool, input)).id);
  made = {
    agent: await create('create_agent', { name: 'one', displayName: 'One' }),
    other: await create('create_agent', { name: 'other', displayName: 'Other' }),
    skill: await create('create_skill', { name: 'Sum up', description: 'Short.', instructions: 'Say it shortly.' }),
    bare: await create('create_skill', { name: 'bare' }),
    document: await create('create_document', { title: 'Plan', content: '# Plan' }),
    text: await create('create_artifact', { name: 'rows', mimeType: 'text/csv', content: 'a,b' }),
    picture: await create('create_artifact', { name: 'dot', mimeType: 'image/png', data: PNG }),
    task: await create('create_task', { title: 'Do', content: 'How to.' }),
    thread: await create('create_thread', { title: 'Secret', visibility: 'restricted' }),
    flow: await create('create_flow', { name: 'Nightly', trigger: { kind: 'webhook' } }),
    report: await create('create_report', { title: 'Agents', query: { tool: 'list_agents' } }),
    capsule: await create('create_capsule', { name: 'Kit', allowedTools: ['get_agent'] }),
    memory: await create('create_memory', { content: 'Likes tea.', tags: ['taste'] }),
    project: await create('create_project', { name: 'Apollo', description: 'To the moon.' }),
    goal: await create('create_goal', { title: 'Land', progress: 0.25 }),
    database: await create('create_database', { name: 'Table', columns: [{ name: 'a', type: 'string' }] }),
  };
  const databaseId = made.database;
  record = { databaseId, id: await create('create_record', { databaseId, values: { a: 'x' } }) };
  keys.limited = await makeKey(server, {
    grants: [`agent:read:${made.agent}`, `skill:read:${made.skill}`, 'thread:read'],
  });
  keys.goals = await makeKey(server, { grants: ['goal:read'] });
  approvalId = await askedApproval(server, 'create_skill', { name: 'asked for' });
  keys.nobody = await makeKey(server, { grants: ['goal:write'] });
});
after(() => server.close());

type Era = 'legacy' | 'modern';

function cursorOf(...parts: unknown[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

function ask(era: Era, method: string, params: Params = {}, key = keys.admin) {
  const { message, headers } = inEra(era, method, params);
  return post(`${server.baseUrl}/api/v1/mcp`, message, { token: key, headers });
}

async function read(era: Era, uri: string, key = keys.admin) {
  const { status, body } = await ask(era, 'resources/read', { uri }, key);
  assert.equal(status, 200, uri);
  return body.error ?? body.result.contents[0];
}

async function listed(era: Era, key = keys.admin): Promise<string[]> {
  const uris: string[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await ask(era, 'resources/list', cursor === undefined ? {} : { cursor }, key);
    uris.push(...body.result.resources.map(({ uri }: { uri: string }) => uri));
    cursor = body.result.nextCursor;
  } while (cursor !== undefined);
  return uris;
}

async function lastAudit(count: number) {
  await server.store.audit.flush();
  const { records } = await server.store.audit.find({ limit: count });
  return records.map(({ id: _, at: _at, durationMs: _took, requestId: _request, ...rest }) => rest);
}

it('addresses name tools that there are, and inputs of theirs', () => {
  for (const { uriTemplate, readTool, listTool, label } of addresses) {
    const input = catalog.get(readTool)?.tool.input.shape;
    assert.ok(input, readTool);
    for (const [, variable = ''] of uriTemplate.matchAll(/\{(\w+)\}/g)) assert.ok(variable in input, uriTemplate);
    if (listTool === undefined) continue;
    const found = catalog.get(listTool)?.tool;
    assert.ok(found?.annotations.readOnlyHint, listTool);
    assert.ok(label in (catalog.get(readTool)?.tool.output.shape ?? {}), `${uriTemplate} ${label}`);
  }
});

for (const era of ['legacy', 'modern'] as const) {
  describe(`resources in a ${era} revision`, () => {
    it('are read as JSON, as the tool answers them: every kind that is no text', async () => {
      const facts: Readonly<Record<string, object>> = {
        agent: { name: 'one', displayName: 'One', status: 'active' },
        skill: { name: 'Sum up', instructions: 'Say it shortly.' },
        flow: { name: 'Nightly', trigger: { kind: 'webhook' }, enabled: true },
        thread: { title: 'Secret', visibility: 'restricted' },
        report: { title: 'Agents', visualization: 'table' },
        capsule: { name: 'Kit', allowedTools: ['get_agent'], status: 'draft' },
        memory: { content: 'Likes tea.', tags: ['taste'], kind: 'fact' },
        project: { name: 'Apollo', description: 'To the moon.', status: 'active' },
        goal: { title: 'Land', progress: 0.25 },
        task: { title: 'Do', status: 'todo' },
        database: { name: 'Table', columns: [{ name: 'a', type: 'string', required: false }] },
        'database-record': { values: { a: 'x' } },
        'bot-config': { maxTokens: 4096 },
        approval: { tool: 'create_skill', status: 'waiting' },
      };
      const asJson = addresses.filter(({ mimeType }) => mimeType === 'application/json');
      for (const address of asJson) {
        const [kind = ''] = address.uriTemplate.split('://');
        const id = kind === 'approval' ? approvalId : made[kind as keyof Made]; // as the table above names them
        const input = kind === 'database-record' ? record : { id };
        const uri = address.uriTemplate.replace(/\{(\w+)\}/g, (_, name) => String(Reflect.get(input, name)));
        const { text, ...rest } = await read(era, uri);
        assert.deepEqual(rest, { uri, mimeType: 'application/json' });
        const shown = JSON.parse(text);
        assert.deepEqual(
          shown,
          await mustCall(server, keys.admin, address.readTool, kind === 'bot-config' ? {} : input),
        );
        const fact = facts[kind] ?? assert.fail(`nothing is said of ${kind}`);
        assert.deepEqual(Object.fromEntries(Object.keys(fact).map((name) => [name, shown[name]])), fact, kind);
      }
    });

    it('are read as what they are where they are text or bytes', async () => {
      const markdown = { mimeType: 'text/markdown' };
      for (const [uri, expected] of [
        [`document://${made.document}`, { ...markdown, text: '# Plan' }],
        [`task-document://${made.task}`, { ...markdown, text: 'How to.' }],
        [`artifact://${made.text}`, { mimeType: 'text/csv', text: 'a,b' }],
        [`artifact://${made.picture}`, { mimeType: 'image/png', blob: PNG }],
      ] as const) {
        assert.deepEqual(await read(era, uri), { uri, ...expected });
      }
    });

    it('are listed as far as the caller sees them', async () => {
      const all = await listed(era);
      const kindOf = {
        ...Object.fromEntries(Object.keys(made).map((kind) => [kind, kind])),
        other: 'agent',
        bare: 'skill',
      };
      for (const [name, id] of Object.entries(made)) {
        const kind = ['text', 'picture'].includes(name) ? 'artifact' : Reflect.get(kindOf, name);
        assert.ok(all.includes(`${kind}://${id}`), `${kind} ${name}`);
      }
      assert.ok(all.includes('bot-config://workspace'));
      for (const uri of all) assert.equal((await read(era, uri)).uri, uri);
      const open = guides.map(({ name }) => `guide://${name}`);
      assert.deepEqual(await listed(era, keys.limited), [`agent://${made.agent}`, `skill://${made.skill}`, ...open]);
      assert.deepEqual(await listed(era, keys.nobody), open);
    });

    it('have templates for what the caller may try to read', async () => {
      const templates = async (key: string) =>
        (await ask(era, 'resources/templates/list', {}, key)).body.result.resourceTemplates.map(
          ({ uriTemplate }: { uriTemplate: string }) => uriTemplate,
        );
      assert.equal((await templates(keys.admin)).length, addresses.length - 1);
      assert.deepEqual(await templates(keys.limited), ['agent://{id}', 'skill://{id}', 'thread://{id}']);
    });

    it('answer -32602 with the words of the tool where there is none or one may not read it', async () => {
      const none = await callTool(server, keys.admin, 'get_agent', { id: 'agt_none' });
      assert.ok('error' in none);
      const uri = 'agent://agt_none';
      assert.deepEqual(await read(era, uri), { code: -32602, message: none.error.error, data: { uri } });
      const denied = await read(era, `agent://${made.other}`, keys.limited);
      assert.deepEqual([denied.code, denied.message], [-32602, 'Insufficient permissions']);
      assert.equal(denied.data.code, 'forbidden');
    });

    it('hide a restricted thread as if it were not there', async () => {
      const hidden = await read(era, `thread://${made.thread}`, keys.limited);
      const absent = await read(era, 'thread://thr_none', keys.limited);
      assert.deepEqual(Object.keys(hidden.data), ['uri']);
      assert.equal(hidden.message.replace(made.thread, 'thr_none'), absent.message);
    });

    it('leave the audit entry of the tool call', async () => {
      for (const [id, key] of [
        [made.agent, keys.admin],
        [made.other, keys.limited],
        ['agt_none', keys.admin],
      ] as const) {
        await read(era, `agent://${id}`, key);
        await callTool(server, key, 'get_agent', { id });
        const [asTool, asResource] = await lastAudit(2);
        assert.deepEqual(asResource, asTool);
        assert.equal(asResource?.tool, 'get_agent');
      }
    });

    it('are refused with -32602 under every other URI', async () => {
      const uris = [
        '',
        'agent',
        'agent:',
        'agent://',
        'agent:///',
        `agent://${made.agent}/`,
        `agent://${made.agent}/x`,
        'agent://%',
        'agent://%ff',
        'agent://%00',
        'agent://../skill',
        `AGENT://${made.agent}`,
        'constructor://x',
        '__proto__://x',
        'file:///etc/passwd',
        'http://127.0.0.1/',
        'bot-config://other',
        'database-record://x',
        '{id}',
        'agent://{id}',
        `agent://${'a'.repeat(300)}`,
        `agent://${'a'.repeat(3000)}`,
        'agent://%E2%80%AE',
      ];
      for (const uri of uris) assert.equal((await read(era, uri)).code, -32602, uri);
      // No header can carry this one.
      if (era === 'legacy') assert.equal((await read(era, 'agent://\ud800')).code, -32602);
      for (const uri of [undefined, null, 1, {}, ['agent://x']]) {
        const { body } = await ask(era, 'resources/read', { uri });
        assert.equal(body.error.code, -32602);
      }
    });

    it('refuse cursors that are not theirs', async () => {
      for (const method of ['resources/list', 'resources/templates/list', 'prompts/list']) {
        for (const cursor of ['', 'x', 5, null, {}, 'W10', cursorOf('goal://{id}', 'x'), cursorOf('x', null)]) {
          const { body } = await ask(era, method, { cursor });
          assert.equal(body.error?.code, -32602, `${method} ${JSON.stringify(cursor)}`);
        }
      }
    });

    it('are not subscribed to by a request for one', async () => {
      const { body } = await ask(era, 'resources/subscribe', { uri: `agent://${made.agent}` });
      assert.equal(body.error.code, -32601);
    });
  });

  describe(`prompts in a ${era} revision`, () => {
    const get = async (params: Params, key = keys.admin) => (await ask(era, 'prompts/get', params, key)).body;
    const say = (text: string) => ({ role: 'user', content: { type: 'text', text } });

    it('are the skills with instructions that the caller sees', async () => {
      const names = async (key: string) =>
        (await ask(era, 'prompts/list', {}, key)).body.result.prompts.map(({ name }: { name: string }) => name);
      assert.deepEqual(await names(keys.admin), ['Sum up']);
      assert.deepEqual(await names(keys.limited), ['Sum up']);
      assert.deepEqual(await names(keys.nobody), []);
    });

    it('are got by name or id, with input or without', async () => {
      for (const name of ['Sum up', made.skill]) {
        const plain = (await get({ name }, keys.limited)).result;
        assert.deepEqual([plain.description, plain.messages], ['Short.', [say('Say it shortly.')]]);
        const { messages } = (await get({ name, arguments: { input: 'A tale.' } })).result;
        assert.deepEqual(messages, [say('Say it shortly.'), say('A tale.')]);
      }
    });

    it('are said not to be there whatever arguments come with them', async () => {
      const { message } = (await get({ name: 'none' })).error;
      assert.match(message, /no skill/i);
      assert.equal((await get({ name: 'none', arguments: { other: 'x' } })).error.message, message);
    });

    it('are refused with -32602 where there is none, for wrong arguments and without the right', async () => {
      for (const params of [
        { name: 'none' },
        { name: made.bare },
        { name: '' },
        { name: 'x'.repeat(5000) },
        { name: 1 },
        {},
        { name: 'Sum up', arguments: { other: 'x' } },
        { name: 'Sum up', arguments: { input: 1 } },
        { name: 'Sum up', arguments: [] },
      ]) {
        assert.equal((await get(params)).error?.code, -32602, JSON.stringify(params).slice(0, 80));
      }
      for (const name of ['bare', made.bare]) assert.equal((await get({ name }, keys.limited)).error.code, -32602);
      assert.equal((await get({ name: 'Sum up' }, keys.nobody)).error.message, 'Insufficient permissions');
    });
  });
}

for (const era of ['legacy', 'modern'] as const) {
  describe(`completion in a ${era} revision`, () => {
    const asked = (ref: unknown, argument: unknown, key = keys.admin, context?: object) =>
      ask(era, 'completion/complete', { ref, argument, ...(context && { context }) } as Params, key);
    const template = (uri: string) => ({ type: 'ref/resource', uri });
    const values = async (uri: string, value: string, key?: string, name = 'id', context?: object) => {
      const { body } = await asked(template(uri), { name, value }, key, context);
      assert.ok(body.result, JSON.stringify(body));
      return body.result.completion.values;
    };

    it('offers the ids of every kind, by the beginning of the id and by part of the name', async () => {
      for (const kind of kinds) {
        const id = made[kind];
        assert.ok((await values(`${kind}://{id}`, '')).includes(id), kind);
        assert.deepEqual(await values(`${kind}://{id}`, id), [id], kind);
      }
      assert.deepEqual(await values('agent://{id}', 'OTH'), [made.other]);
      assert.deepEqual(await values('document://{id}', 'plan'), [made.document]);
      assert.deepEqual(await values('artifact://{id}', 'do'), [made.picture]);
      assert.deepEqual(await values('task-document://{id}', 'do'), [made.task]);
      assert.deepEqual(await values('memory://{id}', 'tea'), [made.memory]);
      assert.deepEqual(await values('agent://{id}', 'no such name'), []);
      const every = 'database-record://{databaseId}/{id}';
      assert.deepEqual(await values(every, 'tab', keys.admin, 'databaseId'), [record.databaseId]);
      const context = { arguments: { databaseId: record.databaseId } };
      assert.deepEqual(await values(every, '', keys.admin, 'id', context), [record.id]);
      assert.deepEqual(await values(every, ''), []);
      assert.deepEqual(await values(every, '', keys.admin, 'id', { arguments: { databaseId: 'dbs_none' } }), []);
    });

    it('offers no more than the caller sees', async () => {
      assert.deepEqual(await values('agent://{id}', '', keys.limited), [made.agent]);
      assert.deepEqual(await values('thread://{id}', '', keys.limited), []);
      assert.deepEqual(await values('project://{id}', '', keys.limited), []);
      assert.deepEqual(await values('agent://{id}', '', keys.nobody), []);
    });

    it('knows the arguments of prompts, which are free', async () => {
      const { body } = await asked({ type: 'ref/prompt', name: 'Sum up' }, { name: 'input', value: 'a' });
      assert.deepEqual(body.result.completion, { values: [], hasMore: false });
    });

    it('is refused with -32602 for what there is not', async () => {
      const argument = { name: 'id', value: '' };
      for (const [ref, given] of [
        [template('agent://x'), argument],
        [template('bot-config://workspace'), argument],
        [template('agent://{id}'), { name: 'name', value: '' }],
        [template('agent://{id}'), { name: 'id', value: 'x'.repeat(5000) }],
        [template('agent://{id}'), { name: 'id' }],
        [template('agent://{id}'), undefined],
        [
          { type: 'ref/prompt', name: 'none' },
          { name: 'input', value: '' },
        ],
        [
          { type: 'ref/prompt', name: 'Sum up' },
          { name: 'other', value: '' },
        ],
        [{ type: 'ref/prompt' }, argument],
        [{ type: 'ref/tool', name: 'get_agent' }, argument],
        [{}, argument],
        ['agent://{id}', argument],
        [undefined, undefined],
      ]) {
        const { body } = await asked(ref, given);
        assert.equal(body.error?.code, -32602, JSON.stringify([ref, given]).slice(0, 100));
      }
      const hidden = await asked({ type: 'ref/prompt', name: 'Sum up' }, { name: 'input', value: '' }, keys.nobody);
      assert.equal(hidden.body.error.code, -32602);
    });
  });
}

describe('resources of a full workspace', () => {
  const goals: string[] = [];
  before(async () => {
    await server.store.transaction(async (tx) => {
      for (let count = 0; count < 2150; count++) {
        const goal = await tx.goals.insert({ title: `Goal ${count}`, status: 'active', progress: 0 });
        goals.push(`goal://${goal.id}`);
      }
    });
  });

  it('come in pages, all of them, each once', async () => {
    const first = (await ask('legacy', 'resources/list')).body.result;
    assert.equal(first.resources.length, 1000);
    const second = (await ask('legacy', 'resources/list', { cursor: first.nextCursor })).body.result;
    assert.equal(second.resources.length, 1000);
    const uris = await listed('legacy');
    assert.equal(new Set(uris).size, uris.length);
    const shown = new Set(uris);
    assert.deepEqual(
      goals.filter((uri) => !shown.has(uri)),
      [],
    );
    assert.ok(uris.includes(`document://${made.document}`));
  });

  it('complete among the newest 100 of a kind, and say that there are more', async () => {
    const completion = await complete('goal', keys.goals);
    assert.deepEqual([completion.values.length, completion.hasMore], [100, true]);
  });

  it('complete among all for who may search', async () => {
    const { values } = await complete('Goal 17');
    assert.ok(values.includes(goals[17]?.slice('goal://'.length)));
    const id = goals[5]?.slice('goal://'.length) ?? '';
    assert.deepEqual((await complete(id)).values, [id]);
    assert.deepEqual(await complete('zzzz'), { values: [], hasMore: false });
  });

  async function complete(value: string, key = keys.admin) {
    const params = { ref: { type: 'ref/resource', uri: 'goal://{id}' }, argument: { name: 'id', value } };
    return (await ask('legacy', 'completion/complete', params, key)).body.result.completion;
  }
});

describe('official clients', () => {
  const requestInit = () => ({ headers: { Authorization: `Bearer ${keys.admin}` } });
  const url = () => new URL(`${server.baseUrl}/api/v1/mcp`);

  async function newClient(options: object) {
    const client = new Client({ name: 'test', version: '1' }, options);
    await client.connect(new StreamableHTTPClientTransport(url(), { requestInit: requestInit() }));
    return client;
  }

  async function oldClient() {
    const client = new OldClient({ name: 'test', version: '1' });
    const transport = new OldTransport(url(), { requestInit: requestInit() });
    // The old transport's type allows members to be undefined that its interface does not.
    await client.connect(transport as Parameters<OldClient['connect']>[0]);
    return client;
  }

  for (const [title, connect, subscribe] of [
    ['SDK 2 as it comes', () => newClient({}), false],
    ['SDK 2 negotiating', () => newClient({ versionNegotiation: { mode: 'auto' } }), true],
    ['SDK 1', oldClient, false],
  ] as const) {
    it(`of ${title} list and read resources, list and get prompts`, async () => {
      const client = await connect();
      const capabilities = client.getServerCapabilities();
      assert.deepEqual(capabilities?.resources, { listChanged: false, subscribe });
      assert.deepEqual(capabilities?.prompts, { listChanged: false });
      const { resources } = await client.listResources();
      assert.ok(resources.some(({ uri }) => uri === `agent://${made.agent}`));
      assert.ok((await client.listResourceTemplates()).resourceTemplates.length > 5);
      const { contents } = await client.readResource({ uri: `artifact://${made.picture}` });
      assert.deepEqual(contents, [{ uri: `artifact://${made.picture}`, mimeType: 'image/png', blob: PNG }]);
      await assert.rejects(client.readResource({ uri: 'agent://agt_none' }), { code: -32602 });
      const { prompts } = await client.listPrompts();
      assert.deepEqual(prompts[0]?.arguments?.[0]?.name, 'input');
      const { messages } = await client.getPrompt({ name: 'Sum up', arguments: { input: 'x' } });
      assert.equal(messages.length, 2);
      assert.deepEqual(capabilities?.completions, {});
      const ref = { type: 'ref/resource', uri: 'agent://{id}' } as const;
      const { completion } = await client.complete({ ref, argument: { name: 'id', value: 'one' } });
      assert.deepEqual([completion.values, completion.hasMore], [[made.agent], false]);
      await client.close();
    });
  }
});
