import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { askMcp, callsOf, makeKey, outcomeOf, rest, toolNames } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, call } = callsOf(server);

/** A key that may talk to agents and do nothing else, a thread that it began, and one that it did not. */
let key = '';
let own = '';
let other = '';
const say = async (secret: string, input: object = {}) =>
  (await must('send_chat_message', { message: 'Hello', agentId: 'ada', ...input }, secret)).threadId as string;
const codeOf = async (tool: string, input: object, secret = key) => {
  return outcomeOf(await call(tool, input, secret));
};
const idsOf = async (tool: string, secret = key) => pluck((await must(tool, {}, secret)).data, 'id');

describe('a key with agent:invoke alone', () => {
  before(async () => {
    await must('create_agent', { name: 'ada', displayName: 'Ada' });
    await must('create_agent', { name: 'bob', displayName: 'Bob' });
    key = await makeKey(server, { grants: ['agent:invoke:ada'] });
    own = await say(key);
    other = await say(await makeKey(server, { grants: ['agent:invoke'] }));
    await must('create_thread', { title: 'of the admin' });
  });

  it('goes on with the threads that it began, and with no others', async () => {
    assert.equal(await say(key, { threadId: own }), own);
    assert.equal(await say(key, { threadId: own, agentId: undefined }), own);
    assert.equal(await codeOf('send_chat_message', { message: 'Hello', agentId: 'ada', threadId: other }), 'forbidden');
    assert.equal(await codeOf('send_chat_message', { message: 'Hello', agentId: 'bob', threadId: own }), 'forbidden');
  });

  it('reads them and their messages, at every door, and no others', async () => {
    for (const tool of ['get_thread', 'list_messages']) {
      assert.equal(await codeOf(tool, { id: own }), 'ok');
      assert.equal(await codeOf(tool, { id: other }), 'forbidden');
      assert.equal(await codeOf(tool, { id: 'thr_none' }), 'forbidden');
    }
    for (const path of ['', '/messages']) {
      assert.equal((await rest(server, 'GET', `/api/v1/threads/${own}${path}`, { key })).status, 200);
      assert.equal((await rest(server, 'GET', `/api/v1/threads/${other}${path}`, { key })).status, 403);
    }
    const read = (id: string) => askMcp(server, key, 'resources/read', { uri: `thread://${id}` });
    assert.ok((await read(own)).result);
    assert.ok((await read(other)).error);
  });

  it('lists and counts exactly them', async () => {
    assert.deepEqual(await idsOf('list_threads'), [own]);
    assert.equal((await must('list_threads', { includeTotal: true }, key)).total, 1);
    assert.equal((await must('get_thread_stats', {}, key)).threads, 1);
    assert.ok((await idsOf('list_threads', server.adminKey)).length >= 3);
  });

  it('makes, changes, forks, shares and deletes none', async () => {
    for (const [tool, input] of [
      ['create_thread', { title: 'x' }],
      ['update_thread', { id: own, title: 'x' }],
      ['fork_thread', { id: own }],
      ['delete_thread', { id: own }],
      ['update_thread_access', { id: own, visibility: 'restricted' }],
    ] as const) {
      assert.equal(await codeOf(tool, input), 'forbidden', tool);
    }
    assert.deepEqual((await toolNames(server, key)).filter((name) => /thread|messages/.test(name)).sort(), [
      'get_thread',
      'get_thread_access',
      'get_thread_stats',
      'list_messages',
      'list_threads',
    ]);
  });

  it('has no more than its grants where one of them is for threads', async () => {
    const both = await makeKey(server, { grants: ['agent:invoke', `thread:read:${other}`] });
    const begun = await say(both);
    assert.equal(await codeOf('get_thread', { id: other }, both), 'ok');
    assert.equal(await codeOf('get_thread', { id: begun }, both), 'forbidden');
  });

  it('hands none of it on', async () => {
    const maker = await makeKey(server, { grants: ['agent:invoke', 'key:write'] });
    const input = { name: 'more', scopes: [], grants: ['thread:read'] };
    assert.equal(await codeOf('create_api_key', input, maker), 'forbidden');
  });
});
