import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { Client, type McpSubscription, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { addresses } from '../../facade/mcp/addresses.ts';
import { collections } from '../../store/collections.ts';
import { askedApproval, callsOf, makeCapsule, makeKey } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { openStream } from '../support/stream.ts';
import { until } from '../support/until.ts';

const server = serverForTests({ RATE_LIMIT_PER_MINUTE: '0' });
const { must } = callsOf({
  get baseUrl() {
    return server.baseUrl;
  },
  get adminKey() {
    return server.adminKey;
  },
});

interface Listener {
  readonly client: Client;
  readonly subscription: McpSubscription;
  readonly told: string[];
  /** Waits for the notification of a change after all others. Returns the notifications before it. */
  settled(): Promise<string[]>;
}

const open: Client[] = [];
after(() => Promise.all(open.map((client) => client.close())));

/** Follows the URIs with the official client, and its own document to know when all notifications have come. */
async function listen(uris: readonly string[], token = server.adminKey, path = '/api/v1/mcp'): Promise<Listener> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.baseUrl}${path}`), { requestInit }));
  open.push(client);
  const last = (await must('create_document', { title: 'Last', content: '0' })).id;
  const told: string[] = [];
  let seen = () => {};
  client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
    if (uri === `document://${last}`) seen();
    else told.push(uri);
  });
  const subscription = await client.listen({ resourceSubscriptions: [...uris, `document://${last}`] });
  return {
    client,
    subscription,
    told,
    async settled() {
      const heard = new Promise<void>((resolve) => {
        seen = resolve;
      });
      await must('update_document', { id: last, content: String(Math.random()) });
      await heard;
      return told;
    },
  };
}

it('a subscription that ends leaves nobody behind who hears of changes', async () => {
  const onCommit = server.store.onCommit.bind(server.store);
  let hearing = 0;
  server.store.onCommit = (tell, collections) => {
    const forget = onCommit(tell, collections);
    if (collections) return forget; // of another part of the server, which begins when it is first needed
    hearing += 1;
    return () => {
      hearing -= 1;
      forget();
    };
  };
  const { client } = await listen(['agent://agt_any']);
  assert.equal(hearing, 1);
  await client.close();
  await until(() => hearing === 0);
  server.store.onCommit = onCommit;
});

it('a subscription that is the first request of its connection is not taken for a leak', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  const stream = await openStream(server, server.adminKey);
  stream.leave();
  await new Promise(setImmediate); // warnings come a turn later
  process.off('warning', note);
  assert.deepEqual(warnings, []);
});

async function makeAgent(name: string): Promise<string> {
  return (await must('create_agent', { name, displayName: name })).id;
}

describe('a subscription to resources', () => {
  it('notifies of each change of a record that is followed, and of no other', async () => {
    const [followed, other] = [await makeAgent('ada'), await makeAgent('bob')];
    const listener = await listen([`agent://${followed}`]);
    assert.deepEqual(listener.subscription.honoredFilter.resourceSubscriptions?.length, 2);
    await must('update_agent', { id: other, displayName: 'B.' });
    await must('update_agent', { id: followed, displayName: 'A.' });
    assert.deepEqual(await listener.settled(), [`agent://${followed}`]);
    await must('update_agent', { id: followed, displayName: 'A.' }); // changes nothing
    assert.equal((await listener.settled()).length, 1);
    await must('delete_agent', { id: followed });
    assert.equal((await listener.settled()).length, 2);
  });

  it('notifies once of a record that is deleted, and again when it is back', async () => {
    const { id } = await must('create_document', { title: 'Gone', content: 'x' });
    const listener = await listen([`document://${id}`]);
    await must('delete_document', { id });
    assert.equal((await listener.settled()).length, 1);
    const { data } = await must('list_versions', { entityType: 'document', entityId: id });
    await must('restore_version', { entityType: 'document', entityId: id, versionId: data.at(-1).id });
    assert.equal((await listener.settled()).length, 2);
  });

  it('knows URIs however they are spelled, and acknowledges none that no resource can have', async () => {
    const id = await makeAgent('cyd');
    const spelled = `agent://${id.replace('_', '%5F')}`;
    const impossible = ['agent://a/b', 'agent://\ud800', 'file:///etc/passwd', 'agent'];
    const listener = await listen([spelled, ...impossible, spelled, `agent://${id}`]);
    assert.deepEqual(listener.subscription.honoredFilter.resourceSubscriptions?.slice(0, -1), [spelled]);
    await must('update_agent', { id, displayName: 'C.' });
    assert.deepEqual(await listener.settled(), [spelled]);
  });

  it('follows a bounded number of resources', async () => {
    const uris = Array.from({ length: 1000 }, (_, index) => `agent://agt_${index}`);
    await assert.rejects(listen(uris), { code: -32602 });
    await listen(uris.slice(1));
  });

  it('notifies of messages of a thread, because they change what is read of it', async () => {
    const thread = await must('create_thread', { title: 'Talk' });
    const agentId = await makeAgent('dot');
    const listener = await listen([`thread://${thread.id}`]);
    await must('send_chat_message', { threadId: thread.id, agentId, message: 'Hello' });
    assert.ok((await listener.settled()).includes(`thread://${thread.id}`));
  });

  it('follows all records of a kind, those that are made later too, where the URI ends before their ids', async () => {
    const listener = await listen(['agent://', 'skill://', 'bot-config://', 'agent://x/', '%61gent://']);
    assert.deepEqual(listener.subscription.honoredFilter.resourceSubscriptions?.slice(0, -1), ['agent://', 'skill://']);
    const id = await makeAgent('new');
    assert.deepEqual([...(await listener.settled())], ['agent://']);
    await must('update_agent', { id, displayName: 'Newer' });
    assert.deepEqual([...(await listener.settled())], ['agent://', 'agent://']);
    await must('create_goal', { title: 'G' });
    assert.equal((await listener.settled()).length, 2);
    await must('delete_agent', { id });
    assert.equal((await listener.settled()).length, 3);
  });

  it('follows the records of one database', async () => {
    const make = async (name: string) =>
      (await must('create_database', { name, columns: [{ name: 'a', type: 'string' }] })).id;
    const [one, other] = [await make('One'), await make('Other')];
    const [all, ofOne] = ['database-record://', `database-record://${one}/`];
    const listener = await listen([all, ofOne]);
    await must('create_record', { databaseId: other, values: { a: 'x' } });
    assert.deepEqual([...(await listener.settled())], [all]);
    await must('create_record', { databaseId: one, values: { a: 'x' } });
    assert.deepEqual(new Set((await listener.settled()).slice(1)), new Set([all, ofOne]));
  });

  it('is over for the server too once the client has closed it: its place is free for another', async () => {
    const id = await makeAgent('eve');
    const token = await makeKey(server, { scopes: ['read'] });
    const { client, subscription, told } = await listen([`agent://${id}`], token);
    await subscription.close();
    // As many as a caller may have open at a time.
    for (let count = 0; count < 100; count += 1) {
      await (await client.listen({ resourceSubscriptions: [`agent://${id}`] })).close();
    }
    // The server may hear of an end a moment later.
    let another: Listener | undefined;
    await until(async () => {
      another = await listen([`agent://${id}`], token).catch(() => undefined);
      return another !== undefined;
    });
    await must('update_agent', { id, displayName: 'Eve' });
    assert.deepEqual(await another?.settled(), [`agent://${id}`]);
    assert.deepEqual(told, []);
  });
});

describe('the rights of a subscriber', () => {
  it('decide for every kind of record which notifications come: those of records that it can read', async () => {
    const project = await must('create_project', { name: 'P' });
    const database = await must('create_database', { name: 'T', columns: [{ name: 'a', type: 'string' }] });
    const record = await must('create_record', { databaseId: database.id, values: { a: 'x' } });
    const made = {
      agent: await must('create_agent', { name: 'every', displayName: 'E' }),
      skill: await must('create_skill', { name: 'every' }),
      flow: await must('create_flow', { name: 'every', trigger: { kind: 'webhook' } }),
      thread: await must('create_thread', { title: 'every' }),
      report: await must('create_report', { title: 'every', query: { tool: 'list_agents' } }),
      capsule: await must('create_capsule', { name: 'every', allowedTools: ['get_agent'] }),
      memory: await must('create_memory', { content: 'every' }),
      project,
      goal: await must('create_goal', { title: 'every' }),
      task: await must('create_task', { title: 'every' }),
      document: await must('create_document', { title: 'every', content: 'x' }),
      artifact: await must('create_artifact', { name: 'every', mimeType: 'text/plain', content: 'x' }),
      approval: { id: await askedApproval(server, 'create_skill', { name: 'asked for' }) },
    };
    const uris = [
      ...Object.entries(made).map(([kind, { id }]) => `${kind}://${id}`),
      `task-document://${made.task.id}`,
      `database-record://${database.id}/${record.id}`,
      'bot-config://workspace',
    ];
    const grants = [
      'document:read', // the last one of each listener
      'agent:read:every',
      `skill:read:${made.skill.id}`,
      'skill:write',
      `record:read:${database.id}`,
      `task:read:${made.task.id}`,
      'memory:write',
      'approval:read', // which shows those alone that it may decide
    ];
    const keys = [
      server.adminKey,
      await makeKey(server, { scopes: ['read'] }),
      await makeKey(server, { scopes: ['documents:read', 'memory:read', 'records:read'] }),
      await makeKey(server, { grants }),
    ];
    const listeners = await Promise.all(keys.map((key) => listen(uris, key)));
    await changeAll();
    for (const [index, listener] of listeners.entries()) {
      const readable = new Set<string>();
      for (const uri of uris) {
        const read = await listener.client.readResource({ uri }).catch(() => undefined);
        if (read) readable.add(uri);
      }
      assert.deepEqual(new Set(await listener.settled()), readable, `key ${index}`);
      assert.ok(index > 0 || readable.size === uris.length);
    }
    assert.equal(listeners[3]?.told.length, 6);
    assert.equal(uris.length + 1, addresses.length, 'every address but that of databases, which never change');

    async function changeAll() {
      await must('update_agent', { id: made.agent.id, displayName: 'F' });
      await must('update_skill', { id: made.skill.id, description: 'F' });
      await must('update_flow', { id: made.flow.id, description: 'F' });
      await must('update_thread', { id: made.thread.id, title: 'F' });
      await must('update_report', { id: made.report.id, title: 'F' });
      await must('update_capsule', { id: made.capsule.id, name: 'F' });
      await must('update_memory', { id: made.memory.id, content: 'F' });
      await must('update_project', { id: project.id, name: 'F' });
      await must('update_goal', { id: made.goal.id, title: 'F' });
      await must('update_task', { id: made.task.id, title: 'F' });
      await must('update_document', { id: made.document.id, content: 'F' });
      await must('update_artifact', { id: made.artifact.id, content: 'F' });
      await must('update_task_document', { id: made.task.id, content: 'F' });
      await must('update_record', { databaseId: database.id, id: record.id, values: { a: 'F' } });
      await must('update_bot_config', { maxTokens: 2048 });
      await server.store.transaction((tx) => tx.approvals.update(made.approval.id, { status: 'rejected' }));
    }
  });

  it('are checked at each notification: of a restricted thread those with access are notified, until it is taken away', async () => {
    const scopes = ['threads:read', 'documents:read', 'memory:read'];
    const inside = await must('create_api_key', { name: 'inside', scopes });
    const outside = await makeKey(server, { scopes });
    const thread = await must('create_thread', { title: 'Secret' });
    const entry = { principal: { type: 'api-key', id: inside.id }, role: 'viewer' };
    await must('add_thread_access', { id: thread.id, entries: [entry] });
    const memory = await must('create_memory', { content: 'Hush', scope: 'thread', threadId: thread.id });
    const uris = [`thread://${thread.id}`, `memory://${memory.id}`];
    const [member, stranger, admin] = [
      await listen(uris, inside.secret),
      await listen(uris, outside),
      await listen(uris),
    ];
    await must('update_thread_access', { id: thread.id, visibility: 'restricted' });
    await must('update_thread', { id: thread.id, title: 'More secret' });
    await must('update_memory', { id: memory.id, content: 'Hush!' });
    assert.deepEqual(new Set(await member.settled()), new Set(uris));
    assert.deepEqual(await stranger.settled(), []);
    const heard = (await member.settled()).length;
    await must('remove_thread_access', { id: thread.id, principals: [entry.principal] });
    await must('update_thread', { id: thread.id, title: 'Most secret' });
    await must('update_memory', { id: memory.id, content: 'Hush!!' });
    await must('delete_memory', { id: memory.id });
    await must('delete_thread', { id: thread.id });
    assert.equal((await member.settled()).length, heard);
    assert.deepEqual(await stranger.settled(), []);
    assert.deepEqual((await admin.settled()).slice(-2).sort(), uris.toSorted());
  });

  it('decide of which records of a kind it hears', async () => {
    const own = await makeAgent('own');
    const one = await listen(
      ['agent://', 'thread://'],
      await makeKey(server, { grants: ['agent:read:own', 'document:read', 'thread:read'] }),
    );
    await makeAgent('another');
    await must('create_thread', { title: 'Secret', visibility: 'restricted' });
    assert.deepEqual([...(await one.settled())], []);
    await must('update_agent', { id: own, displayName: 'Own' });
    await must('create_thread', { title: 'Open' });
    assert.deepEqual(new Set(await one.settled()), new Set(['agent://', 'thread://']));
  });

  it('let those hear of the deletion of a restricted thread who could read it just before', async () => {
    const scopes = ['threads:read', 'documents:read'];
    const inside = await must('create_api_key', { name: 'inside', scopes });
    const thread = await must('create_thread', { title: 'Secret', visibility: 'restricted' });
    const entry = { principal: { type: 'api-key', id: inside.id }, role: 'viewer' };
    await must('add_thread_access', { id: thread.id, entries: [entry] });
    const uris = [`thread://${thread.id}`];
    const [member, stranger] = [
      await listen(uris, inside.secret),
      await listen(uris, await makeKey(server, { scopes })),
    ];
    await must('delete_thread', { id: thread.id });
    assert.deepEqual(await member.settled(), uris);
    assert.deepEqual(await stranger.settled(), []);
  });

  it('end the stream when the key is revoked, and nothing is sent after', async () => {
    const key = await must('create_api_key', { name: 'short', scopes: ['read'] });
    const id = await makeAgent('fay');
    const listener = await listen([`agent://${id}`], key.secret);
    await must('revoke_api_key', { id: key.id });
    await must('update_agent', { id, displayName: 'F.' });
    assert.equal(await listener.subscription.closed, 'remote');
    assert.deepEqual(listener.told, []);
  });

  it('are those of the capsule for its token, as they change', async () => {
    const [agent, goal] = [await makeAgent('gus'), (await must('create_goal', { title: 'G' })).id];
    const capsule = await makeCapsule(server, { allowedTools: ['get_document', 'get_agent'] });
    const path = `/api/capsules/${capsule.id}/mcp`;
    const listener = await listen([`agent://${agent}`, `goal://${goal}`], capsule.token, path);
    const change = async (name: string) => {
      await must('update_agent', { id: agent, displayName: name });
      await must('update_goal', { id: goal, title: name });
      return [...(await listener.settled())];
    };
    assert.deepEqual(await change('One'), [`agent://${agent}`]);
    await must('update_capsule', { id: capsule.id, allowedTools: ['get_document', 'get_goal'] });
    assert.deepEqual(await change('Two'), [`agent://${agent}`, `goal://${goal}`]);
    await must('rotate_capsule_token', { id: capsule.id });
    await must('update_goal', { id: goal, title: 'Three' });
    assert.equal(await listener.subscription.closed, 'remote');
    assert.equal(listener.told.length, 2);
  });
});

describe('every kind of resource', () => {
  for (const { uriTemplate, collection } of addresses) {
    it(`${uriTemplate} is kept in a collection`, () => assert.ok(collection in collections));
  }
});
