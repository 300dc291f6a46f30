import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, it } from 'node:test';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answerBeforeStart } from '../../facade/before-start.ts';
import { createNativeServer } from '../../facade/http/native-prototypes.ts';
import { stoppedAtEnd } from '../support/at-end.ts';
import { callsOf, makeCapsule } from '../support/calls.ts';
import { lazyChecks } from '../support/mcp-validators.ts';
import { programArgs } from '../support/node-args.ts';
import { pluck } from '../support/pluck.ts';
import { serverForTests } from '../support/server.ts';
import { fixtureTools, waiting } from './mcp-fixture-tools.ts';

const server = serverForTests(
  { RATE_LIMIT_PER_MINUTE: '0' },
  {
    fixtures: { tools: fixtureTools.map((tool) => ({ group: 'Fixtures', tool })) },
  },
);
const modern: ClientOptions = { versionNegotiation: { mode: 'auto' } };

const opened: Client[] = [];
/** Also after a failure: the process of a client left open would keep this one from ending. */
afterEach(() => Promise.all(opened.splice(0).map((client) => client.close())));

async function connect(options: ClientOptions, key = server.adminKey, more = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { ...options, ...lazyChecks() });
  opened.push(client);
  const env = { PATH: process.env.PATH ?? '', BASE_URL: server.baseUrl, API_KEY: key, ...more };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: programArgs('commands/stdio'), env, stderr: 'ignore' }),
  );
  return client;
}

describe('the stdio door', { timeout: 240_000 }, () => {
  for (const [era, options] of [
    ['2026-07-28', modern],
    ['2025-11-25', {}],
  ] as const) {
    it(`ends a call on the server that the client cancels, in ${era}`, async () => {
      const client = await connect(options);
      const controller = new AbortController();
      const label = `stdio ${era}`;
      const started = once(waiting, 'started');
      const call = client.callTool({ name: 'wait', arguments: { label } }, { signal: controller.signal });
      await started;
      const aborted = once(waiting, 'aborted');
      controller.abort();
      await assert.rejects(call);
      assert.deepEqual(await aborted, [label]);
      await client.close();
    });
  }

  it('answers a call whose key is revoked with an error', async () => {
    const { must } = callsOf(server);
    for (const options of [modern, {}]) {
      const key = await must('create_api_key', { name: 'ends', scopes: ['read'] });
      const client = await connect(options, key.secret);
      const started = once(waiting, 'started');
      const call = client.callTool({ name: 'wait', arguments: { label: 'stdio' } });
      await started;
      await must('revoke_api_key', { id: key.id });
      const { isError, content } = await call;
      assert.equal(isError, true);
      assert.match(JSON.stringify(content), /API key ends .*unauthenticated/);
      await client.close();
    }
  });

  it('takes the token of a capsule with its id or its address, and MODE=search', async () => {
    const capsule = await makeCapsule(server, { allowedTools: ['list_agents', 'get_mrr'] });
    const address = `${server.baseUrl}/api/capsules/${capsule.id}/mcp`;
    for (const [env, names] of [
      [{ CAPSULE_ID: capsule.id }, ['list_agents', 'get_mrr']],
      [{ BASE_URL: address, MODE: 'search' }, ['search_tools', 'describe_tool', 'call_tool']],
    ] as const) {
      const client = await connect(modern, capsule.token, env);
      const { tools } = await client.listTools();
      assert.deepEqual(pluck(tools, 'name'), names);
      const call = { name: 'MODE' in env ? 'call_tool' : 'list_agents', arguments: {} };
      const input = 'MODE' in env ? { ...call, arguments: { name: 'list_agents' } } : call;
      assert.deepEqual((await client.callTool(input)).structuredContent, { data: [], nextCursor: null });
      const { contents } = await client.readResource({ uri: 'ui://agent-admin/chart' });
      assert.equal(contents[0]?.mimeType, 'text/html;profile=mcp-app');
      await client.close();
    }
    await callsOf(server).must('update_capsule', { id: capsule.id, status: 'disabled' });
    await assert.rejects(connect({}, capsule.token, { CAPSULE_ID: capsule.id }), /This capsule is disabled/);
  });

  it('answers a request while the server starts with an error that has its id', async () => {
    const { server: early } = createNativeServer(answerBeforeStart, assert.ifError);
    stoppedAtEnd(early).listen(0, '127.0.0.1');
    await once(early, 'listening');
    const { port } = early.address() as AddressInfo;
    const env = { PATH: process.env.PATH, BASE_URL: `http://127.0.0.1:${port}`, API_KEY: server.adminKey };
    const door = spawn(process.execPath, programArgs('commands/stdio'), { env, stdio: ['pipe', 'pipe', 'ignore'] });
    door.stdin.end('{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}\n');
    const { id, error } = JSON.parse(await text(door.stdout));
    assert.equal(id, 7);
    assert.match(error.message, /starting/);
    early.close();
  });

  it('carries subscriptions, ends them for a client that closes them, and answers one whose key was revoked', async () => {
    const { must } = callsOf(server);
    const [one, other] = [await must('create_goal', { title: 'One' }), await must('create_goal', { title: 'Other' })];
    const key = await must('create_api_key', { name: 'stdio', scopes: ['read'] });
    const client = await connect(modern, key.secret);
    const told: string[] = [];
    let next = () => {};
    client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
      told.push(uri);
      next();
    });
    const update = async (id: string, title: string) => {
      const heard = new Promise<void>((resolve) => {
        next = resolve;
      });
      await must('update_goal', { id, title });
      return heard;
    };
    const closing = await client.listen({ resourceSubscriptions: [`goal://${one.id}`] });
    const staying = await client.listen({ resourceSubscriptions: [`goal://${other.id}`] });
    await update(one.id, 'A');
    await closing.close();
    await client.listTools(); // the door took the end of it before this
    await must('update_goal', { id: one.id, title: 'B' });
    await update(other.id, 'A');
    assert.deepEqual(told, [`goal://${one.id}`, `goal://${other.id}`]);
    await must('revoke_api_key', { id: key.id });
    assert.notEqual(await staying.closed, 'local');
    await client.close();
  });
});
