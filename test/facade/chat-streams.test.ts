import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { mustCall, rest } from '../support/calls.ts';
import { allEvents, openEvents, type SentEvent } from '../support/events.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

let provider: ModelServer;
let server: TestServer;
let agentId = '';
before(async () => {
  provider = await startModelServer();
  server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
  agentId = (await ask('create_agent', { name: 'ada', displayName: 'Ada', tools: ['list_skills'] })).id;
});
after(async () => {
  await server.close();
  await provider.close();
});
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const ask = (tool: string, input: object = {}, key = server.adminKey) => mustCall(server, key, tool, input);
const open = (body: object, headers: Record<string, string> = {}, key = server.adminKey) =>
  openEvents(server, '/api/v1/chat', { key, body, headers });
const names = (events: readonly SentEvent[]) => events.map(({ name }) => name);
const textOf = (events: readonly SentEvent[]) =>
  events.map(({ name, data }) => (name === 'delta' ? data.text : '')).join('');

/** A model that looks before it speaks, piece by piece. */
function lookAndSpeak(): void {
  provider.play(({ messages }) =>
    messages.at(-1)?.role === 'user'
      ? { calls: [{ name: 'list_skills', arguments: { limit: 1 } }] }
      : { text: 'There are none at all.', pace: 50 },
  );
}

async function statusOf(threadId: string): Promise<string | undefined> {
  return (await server.store.agentRuns.find({ where: { threadId }, limit: 1 })).records[0]?.status;
}

describe('a chat over REST that is asked for events', () => {
  it('reports the run, calls and results, the text as it comes, and ends with the whole answer', async () => {
    lookAndSpeak();
    const { response, events } = await open({ message: 'Any?', agentId });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const told = await allEvents(events);
    assert.deepEqual(names(told).slice(0, 3), ['run', 'tool_call', 'tool_result']);
    assert.equal(names(told).at(-1), 'final');
    assert.ok(names(told).filter((name) => name === 'delta').length >= 3, names(told).join());
    assert.equal(textOf(told), 'There are none at all.');
    const [run, call, result] = told.map(({ data }) => data);
    const final = told.at(-1)?.data;
    assert.deepEqual([run.runId, run.threadId, run.model], [final.runId, final.threadId, 'custom/tiny']);
    assert.deepEqual([call.tool, call.arguments, result.ok], ['list_skills', { limit: 1 }, true]);
    assert.match(result.content, /^\{"data":\[\]/);
    assert.equal(final.message.content, 'There are none at all.');
    const { data } = await ask('list_messages', { id: final.threadId, limit: 1 });
    assert.deepEqual(data[0], final.message);
  });

  it('streams by `stream` too, which counts more than what is accepted', async () => {
    const streamed = await open({ message: 'Hi', stream: true }, { Accept: 'application/json' });
    assert.equal(names(await allEvents(streamed.events)).at(-1), 'final');
    const json = await open({ message: 'Hi', stream: false });
    assert.equal(((await json.response.json()) as { stopReason: string }).stopReason, 'end');
    const both = await open({ message: 'Hi' }, { Accept: 'application/json, text/event-stream' });
    assert.match(both.response.headers.get('content-type') ?? '', /^application\/json/);
    await both.response.body?.cancel();
  });

  it('answers with a status of its own what is refused before it begins', async () => {
    for (const [body, status] of [
      [{ message: '' }, 400],
      [{ message: 'Hi', agentId: 'agt_none' }, 404],
      [{ message: 'Hi', threadId: 'thr_none' }, 404],
    ] as const) {
      const { response } = await open(body);
      assert.equal(response.status, status);
      assert.equal(((await response.json()) as { code: string }).code !== undefined, true);
    }
  });

  it('ends with an error where the provider fails in the middle', async () => {
    provider.play(() => ({ text: 'half an answer', cut: 'connection', pace: 30 }));
    const { response, events } = await open({ message: 'Hi' });
    assert.equal(response.status, 200);
    const told = await allEvents(events);
    assert.equal(names(told).at(-1), 'error');
    assert.equal(told.at(-1)?.data.code, 'unavailable');
    assert.match(textOf(told), /^half/);
  });

  it('gives the kept answer of an Idempotency-Key as the only event', async () => {
    const headers = { 'Idempotency-Key': 'stream-1' };
    const first = await allEvents((await open({ message: 'Hi' }, headers)).events);
    const { response, events } = await open({ message: 'Hi' }, headers);
    assert.equal(response.headers.get('Idempotency-Replayed'), 'true');
    const again = await allEvents(events);
    assert.deepEqual(again, first.slice(-1));
  });

  it('ends the run when the client goes away', async () => {
    provider.play(() => ({ text: 'a b c d e f g h i j k l', pace: 50 }));
    const { events, goAway } = await open({ message: 'Count' });
    const { value } = await events.next();
    await events.next();
    goAway();
    await until(async () => (await statusOf(value.data.threadId)) === 'cancelled');
  });

  it('ends the run within seconds when the key is revoked, at REST and MCP, streamed or not', async () => {
    const cases = [
      (key: string, message: string) => open({ message }, {}, key).then(({ events }) => allEvents(events)),
      (key: string, message: string) => rest(server, 'POST', '/api/v1/chat', { key, body: { message } }),
      (key: string, message: string) => mustCall(server, key, 'send_chat_message', { message }),
    ];
    provider.play(() => ({ text: 'word '.repeat(200), pace: 50 }));
    for (const [at, start] of cases.entries()) {
      const { id, secret } = await ask('create_api_key', { name: `gone ${at}`, scopes: ['write'] });
      const running = start(secret, `long ${at}`).catch(() => {});
      const titled = async () =>
        (await ask('list_threads')).data.find(({ title }: { title: string }) => title === `long ${at}`);
      await until(async () => (await titled()) !== undefined);
      await ask('revoke_api_key', { id });
      const { id: threadId } = await titled();
      await until(async () => (await statusOf(threadId)) === 'cancelled');
      await running;
    }
  });
});

interface Progress {
  readonly progress: number;
  readonly message?: string | undefined;
}

interface Asking {
  readonly signal?: AbortSignal;
  readonly onprogress: (progress: Progress) => void;
}

/** Calls the chat tool as a client of one SDK line does. */
type Chat = (input: Record<string, unknown>, asking: Asking) => Promise<unknown>;
interface Connected {
  readonly chat: Chat;
  close(): Promise<void>;
}

const requestInit = () => ({ headers: { Authorization: `Bearer ${server.adminKey}` } });
const url = () => new URL(`${server.baseUrl}/api/v1/mcp`);
const info = { name: 'test', version: '1' };

async function connect(options: object): Promise<Connected> {
  const client = new Client(info, options);
  await client.connect(new StreamableHTTPClientTransport(url(), { requestInit: requestInit() }));
  return {
    chat: (input, asking) => client.callTool({ name: 'send_chat_message', arguments: input }, asking),
    close: () => client.close(),
  };
}

async function connectOld(): Promise<Connected> {
  const client = new OldClient(info);
  const transport = new OldTransport(url(), { requestInit: requestInit() });
  // The old transport's type allows members to be undefined that its interface does not.
  await client.connect(transport as Parameters<OldClient['connect']>[0]);
  return {
    chat: (input, asking) => client.callTool({ name: 'send_chat_message', arguments: input }, undefined, asking),
    close: () => client.close(),
  };
}

for (const [title, connectLine] of [
  ['the client of SDK 2 as it comes', () => connect({})],
  ['the client of SDK 2 negotiating', () => connect({ versionNegotiation: { mode: 'auto' } })],
  ['the client of SDK 1', connectOld],
] as const) {
  describe(`a chat over MCP by ${title}`, () => {
    it('reports its progress: calls, results and the text as it comes', async () => {
      const { chat, close } = await connectLine();
      lookAndSpeak();
      const told: Progress[] = [];
      const answer = await chat({ message: 'Any?', agentId }, { onprogress: (progress) => told.push(progress) });
      const said = told.map(({ message }) => message);
      assert.deepEqual(said.slice(0, 3), ['Running on custom/tiny', 'Calling list_skills', 'list_skills answered']);
      assert.equal(said.slice(3).join(''), 'There are none at all.');
      assert.ok(told.length >= 5, said.join(' | '));
      assert.ok(told.every(({ progress }, at) => progress === at + 1 && !('event' in (told[at] ?? {}))));
      const { structuredContent } = answer as { structuredContent: { message: { content: string } } };
      assert.equal(structuredContent.message.content, 'There are none at all.');
      await close();
    });

    it('is cancelled with its run', async () => {
      const { chat, close } = await connectLine();
      provider.play(() => ({ text: 'a b c d e f g h i j k l m n o p', pace: 50 }));
      const { id: threadId } = await ask('create_thread', { title: 'Cancelled' });
      const controller = new AbortController();
      const onprogress = ({ progress }: Progress) => progress === 3 && controller.abort();
      await assert.rejects(chat({ message: 'Count', threadId }, { signal: controller.signal, onprogress }));
      await until(async () => (await statusOf(threadId)) === 'cancelled');
      await close();
    });
  });
}
