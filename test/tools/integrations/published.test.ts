import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { killedAtEnd } from '../../support/at-end.ts';
import { callsOf, makeKey, rest } from '../../support/calls.ts';
import { freePort } from '../../support/free-port.ts';
import { onLoopback } from '../../support/loopback.ts';
import { pluck } from '../../support/pluck.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import { callRaw, connectHttp, EVERYTHING, errorOfCall, guestNames } from '../../support/upstream.ts';

const server = await startTestServer();
const { must } = callsOf(server);

/** The reference server over HTTP, on a port that is its own from one start to the next. */
async function startEverything(port: number): Promise<ChildProcess> {
  const child = killedAtEnd(
    spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
      env: { PATH: process.env.PATH, PORT: String(port) },
      stdio: 'pipe',
    }),
  );
  await until(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`).catch(() => undefined);
    return answer !== undefined;
  });
  return child;
}

const stdio = { transport: 'stdio', command: process.execPath, args: [EVERYTHING, 'stdio'], accept: true };

/** What the reference server can do, whatever way it is reached. */
async function useEverything(prefix: string): Promise<void> {
  const call = (tool: string, args: object = {}) => callRaw(server, `${prefix}__${tool}`, args);
  assert.deepEqual((await call('echo', { message: 'hi' })).content, [{ type: 'text', text: 'Echo: hi' }]);
  assert.match((await call('get-sum', { a: 2, b: 3 })).content[0].text, /5/);
  const weather = await call('get-structured-content', { location: 'New York' });
  assert.equal(weather.structuredContent.temperature, 33);
  const image = (await call('get-tiny-image')).content.find(({ type }: { type: string }) => type === 'image');
  assert.equal(image.mimeType, 'image/png');
  const wrong = await errorOfCall(server, `${prefix}__get-sum`, { a: 'two' });
  assert.deepEqual(
    [wrong.code, wrong.issues],
    [
      'invalid_input',
      [
        { path: 'a', message: 'Give a number, not text.' },
        { path: 'b', message: 'Is required; give a number.' },
      ],
    ],
  );
  const ended: string[] = [];
  const long = call('trigger-long-running-operation', { duration: 1, steps: 2 }).then(() => ended.push('long'));
  const short = call('get-sum', { a: 1, b: 1 }).then(() => ended.push('short'));
  await Promise.all([long, short]);
  assert.deepEqual(ended, ['short', 'long'], 'calls share a connection and do not wait for each other');
}

describe('the published reference server', () => {
  it('is used over stdio', async () => {
    const { id, status } = await must('create_integration', { ...stdio, name: 'Everything' });
    assert.match(status.server, /everything/);
    await useEverything('everything');
    await must('delete_integration', { id });
  });

  it('is used over HTTP', async () => {
    const port = await freePort();
    const child = await startEverything(port);
    const { id } = await connectHttp(server, `http://127.0.0.1:${port}/mcp`, { name: 'Everything' });
    await useEverything('everything');
    await must('delete_integration', { id });
    child.kill('SIGKILL');
  });

  it('passes on the progress of a call to clients of both eras, and the cancellation to the server', async () => {
    const { id } = await must('create_integration', { ...stdio, name: 'Everything' });
    for (const mode of ['auto', 'legacy'] as const) {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      const headers = { Authorization: `Bearer ${server.adminKey}` };
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${server.baseUrl}/api/v1/mcp`), { requestInit: { headers } }),
      );
      const told: number[] = [];
      const long = { name: 'everything__trigger-long-running-operation', arguments: { duration: 1, steps: 3 } };
      const result = await client.callTool(long, { onprogress: ({ progress }) => told.push(progress) });
      assert.match(JSON.stringify(result.content), /completed/);
      assert.deepEqual(told, [1, 2, 3], mode);
      const slow = { ...long, arguments: { duration: 30, steps: 1 } };
      const cancel = new AbortController();
      const cancelled = client.callTool(slow, { signal: cancel.signal });
      setTimeout(() => cancel.abort(), 300);
      await assert.rejects(cancelled);
      await until(async () => {
        const { data } = await must('list_audit_entries', { tool: slow.name, limit: 1 });
        return data[0]?.outcome === 'failed';
      });
      await client.close();
    }
    await must('delete_integration', { id });
  });

  it('is in a capsule, in an allowlist and in the audit log like any tool', async () => {
    const { id } = await must('create_integration', { ...stdio, name: 'Everything', readOnlyTools: ['get-sum'] });
    const capsule = await must('create_capsule', {
      name: 'Sums',
      allowedTools: ['everything__get-*', 'get_*'],
      status: 'live',
    });
    const ask = async (method: string, params: object = {}) => {
      const body = { jsonrpc: '2.0', id: 1, method, params };
      return (await rest(server, 'POST', `/api/capsules/${capsule.id}/mcp`, { key: capsule.token, body })).body;
    };
    const listed = await ask('tools/list');
    const names = pluck(listed.result.tools, 'name');
    assert.ok(names.includes('everything__get-sum') && !names.includes('everything__echo'), names.join());
    assert.ok(!names.includes('get_integration'), names.join());
    const sum = await ask('tools/call', { name: 'everything__get-sum', arguments: { a: 2, b: 3 } });
    assert.match(sum.result.content[0].text, /5/);
    const refused = await ask('tools/call', { name: 'everything__echo', arguments: { message: 'x' } });
    assert.equal(JSON.parse(refused.result.content[0].text).code, 'forbidden');
    const agent = await must('create_agent', { name: 'sums', displayName: 'Sums', tools: ['everything__*'] });
    assert.deepEqual(agent.warnings ?? [], []);
    const reader = await makeKey(server, { scopes: ['tools:read'] });
    assert.deepEqual(await guestNames(server, reader), ['everything__get-sum']);
    assert.equal(
      (await errorOfCall(server, 'everything__echo', { message: 'x' }, reader)).required.grant,
      'tool:call:everything/echo',
    );
    const one = await makeKey(server, { grants: ['tool:call:everything/echo'] });
    assert.deepEqual(await guestNames(server, one), ['everything__echo']);
    const { data } = await must('list_audit_entries', { tool: 'everything__get-sum', limit: 1 });
    assert.deepEqual([data[0].door, data[0].outcome, data[0].arguments], ['capsule', 'ok', { a: 2, b: 3 }]);
    const { annotations } = await must('describe_tool', { name: 'everything__get-sum' });
    assert.deepEqual([annotations.readOnlyHint, annotations.openWorldHint], [true, true]);
    await must('delete_integration', { id });
    const { warnings } = await must('get_agent', { id: agent.id });
    assert.match(warnings[0], /matches no tool now/);
  });

  it('is killed and started again under load, and nothing else is harmed by it', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    let child = await startEverything(port);
    const programs = () => childrenOf(process.pid, 'stdio');
    const ids = [(await must('create_integration', { ...stdio, name: 'Spared' })).id];
    const spared = programs();
    ids.push((await connectHttp(server, url, { name: 'Web' })).id);
    ids.push((await must('create_integration', { ...stdio, name: 'Killed' })).id);
    let over = false;
    const outcomes: Record<string, { ok: number; unavailable: number; other: string[] }> = {};
    const load = async (name: string, input: object) => {
      outcomes[name] ??= { ok: 0, unavailable: 0, other: [] };
      const told = outcomes[name];
      while (!over) {
        const result = await callRaw(server, name, input);
        if (!result.isError) told.ok += 1;
        else {
          const { code, error } = JSON.parse(result.content[0].text);
          if (code === 'unavailable') told.unavailable += 1;
          else told.other.push(`${code} ${error}`);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    const echo = { message: 'x' };
    const loads = ['web__echo', 'killed__echo', 'spared__echo'].flatMap((name) => [load(name, echo), load(name, echo)]);
    loads.push(load('list_agents', { limit: 1 }), load('check_health', {}));
    for (let round = 0; round < 2; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      child.kill('SIGKILL');
      for (const pid of programs()) if (!spared.includes(pid)) process.kill(pid, 'SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, 500));
      child = await startEverything(port);
      const states = async () =>
        (await must('list_integrations')).data.map(({ status }: { status: { state: string } }) => status.state);
      await until(async () => (await states()).every((state: string) => state === 'connected'));
    }
    await until(async () => Object.values(outcomes).every(({ ok }) => ok > 20)).finally(() => {
      over = true;
    });
    await Promise.all(loads);
    for (const [name, { other }] of Object.entries(outcomes)) assert.deepEqual(other, [], name);
    for (const name of ['spared__echo', 'list_agents', 'check_health'])
      assert.equal(outcomes[name]?.unavailable, 0, name);
    for (const name of ['web__echo', 'killed__echo']) assert.ok((outcomes[name]?.unavailable ?? 0) > 0, name);
    for (const id of ids) await must('delete_integration', { id });
    child.kill('SIGKILL');
    await until(() => programs().length === 0);
  });
});

describe('a server of the revision 2026-07-28', () => {
  it('is used over HTTP, with the headers it asks for, and notifies when its tools change', async () => {
    let more = false;
    const seen: unknown[] = [];
    const handler = createMcpHandler(() => {
      const own = new McpServer({ name: 'modern', version: '2' }, { capabilities: { tools: { listChanged: true } } });
      own.registerTool(
        'greet',
        { description: 'Greet.', inputSchema: z.object({ name: z.string() }) },
        async ({ name }) => ({
          content: [{ type: 'text', text: `Hello ${name}.` }],
        }),
      );
      if (more)
        own.registerTool('part', { description: 'Part.' }, async () => ({ content: [{ type: 'text', text: 'Bye.' }] }));
      return own;
    });
    const listener = toNodeHandler(handler);
    const http = createServer((request, response) => {
      seen.push(request.headers['mcp-protocol-version']);
      // A request of a server has a method.
      void listener(request as Parameters<typeof listener>[0], response);
    });
    const { url, close } = await onLoopback(http);
    const { id, status } = await connectHttp(server, `${url}/mcp`, { name: 'Modern' });
    assert.equal(status.protocolVersion, '2026-07-28');
    assert.equal((await callRaw(server, 'modern__greet', { name: 'Ada' })).content[0].text, 'Hello Ada.');
    assert.equal(seen.at(-1), '2026-07-28');
    more = true;
    handler.notify.toolsChanged();
    await until(async () => (await must('get_integration', { id })).tools.length === 2);
    assert.deepEqual(await guestNames(server), ['modern__greet']);
    await must('delete_integration', { id });
    await close();
  });

  it('is used over stdio', async () => {
    const source = `
      import { McpServer } from '@modelcontextprotocol/server';
      import { serveStdio } from '@modelcontextprotocol/server/stdio';
      serveStdio(() => {
        const server = new McpServer({ name: 'modern', version: '2' });
        server.registerTool('ping', { description: 'Ping.' }, async () => ({ content: [{ type: 'text', text: 'pong' }] }));
        return server;
      });`;
    const args = ['--input-type=module', '-e', source];
    const { id, status } = await must('create_integration', { ...stdio, args, name: 'Modern' });
    assert.equal(status.protocolVersion, '2026-07-28', status.lastError);
    assert.equal((await callRaw(server, 'modern__ping')).content[0].text, 'pong');
    await must('delete_integration', { id });
  });
});

/** Processes that this one runs with the argument. */
function childrenOf(parent: number, argument: string): number[] {
  const { readdirSync, readFileSync } = process.getBuiltinModule('node:fs');
  return readdirSync('/proc').flatMap((name) => {
    try {
      const isChild = new RegExp(`^PPid:\\s*${parent}$`, 'm').test(readFileSync(`/proc/${name}/status`, 'utf8'));
      return isChild && readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(argument)
        ? [Number(name)]
        : [];
    } catch {
      return [];
    }
  });
}
