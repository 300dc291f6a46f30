import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { settingsTools } from '../../tools/settings/settings.ts';
import { credential } from '../support/calls.ts';
import { allEvents, openEvents } from '../support/events.ts';
import { pluck } from '../support/pluck.ts';
import { openStreamAt } from '../support/stream.ts';
import { until } from '../support/until.ts';
import { waiting } from './mcp-fixture-tools.ts';
import { eventsIn, legacy, modern, modernHeaders, modernMeta, post } from './mcp-requests.ts';
import { startMcpServer, tokens } from './mcp-server.ts';

const EVENTS = { Accept: 'application/json, text/event-stream' };

const [adminTool] = settingsTools;
assert.ok(adminTool);

const server = await startMcpServer();

describe('a call with a progress token', () => {
  it('streams its progress and then its result to a legacy client that accepts events', async () => {
    const params = { name: 'count_up', arguments: { to: 3 }, _meta: { progressToken: 'p' } };
    const { status, type, text, headers } = await post(server.url, legacy('tools/call', params, 7), {
      headers: EVENTS,
    });
    assert.equal(status, 200);
    assert.equal(type, 'text/event-stream');
    assert.equal(headers.get('x-request-id'), 'req_test');
    const events = eventsIn(text);
    const told = events
      .slice(0, -1)
      .map(({ method, params }) => [method, params.progressToken, params.progress, params.total]);
    assert.deepEqual(
      told,
      [1, 2, 3].map((step) => ['notifications/progress', 'p', step, 3]),
    );
    assert.equal(events.at(-1).id, 7);
    assert.deepEqual(events.at(-1).result.structuredContent, { count: 3 });
  });

  it('streams its progress and then its result to a modern client that accepts events', async () => {
    const message = modern('tools/call', { name: 'count_up', arguments: { to: 2 } }, { progressToken: 1 });
    const { type, text } = await post(server.url, message, {
      headers: { ...EVENTS, ...modernHeaders('tools/call', 'count_up') },
    });
    assert.equal(type, 'text/event-stream');
    const events = eventsIn(text);
    assert.deepEqual(
      events.map(({ method, id }) => method ?? id),
      ['notifications/progress', 'notifications/progress', 1],
    );
    assert.equal(events.at(-1).result.resultType, 'complete');
  });

  it('is answered in JSON where the tool reports none to a modern client', async () => {
    const message = modern('tools/call', { name: 'echo' }, { progressToken: 1 });
    const { type } = await post(server.url, message, {
      headers: { ...EVENTS, ...modernHeaders('tools/call', 'echo') },
    });
    assert.equal(type, 'application/json');
  });
});

describe('log messages of a call', () => {
  const line = (level: string, data: string) => [level, 'agent-admin', data];
  const step = line('info', 'Calling echo');
  const piece = line('debug', 'Once upon');

  /** The notifications before the result. Undefined if the answer is no stream. */
  async function told(url: string, message: object, headers: Record<string, string>, token: string) {
    const { type, text, body } = await post(url, message, { headers, token });
    const answers = type === 'text/event-stream' ? eventsIn(text) : [body];
    assert.equal(answers.at(-1).result.content[0].text, 'Done.');
    if (type !== 'text/event-stream') return undefined;
    return answers.slice(0, -1).map(({ method, params: { level, logger, data } }) => {
      assert.equal(method, 'notifications/message');
      return [level, logger, data];
    });
  }

  for (const path of ['url', 'sdkUrl'] as const) {
    it(`come in its stream once the caller of an older revision has set a level (${path})`, async () => {
      const call = legacy('tools/call', { name: 'narrate' });
      const ask = (headers: Record<string, string> = EVENTS, token: string = tokens.reader) =>
        told(server[path], call, headers, token);
      const set = async (level: unknown) => {
        const { body } = await post(server[path], legacy('logging/setLevel', { level }), { token: tokens.reader });
        return body.result ?? body.error.code;
      };
      assert.equal(await ask(), undefined);
      for (const [level, lines] of [
        ['info', [step]],
        ['debug', [step, piece]],
        ['error', []],
      ] as const) {
        assert.deepEqual(await set(level), {});
        assert.deepEqual(await ask(), lines);
      }
      await set('debug');
      assert.equal(await ask({}), undefined, 'takes no events');
      assert.equal(await ask(EVENTS, tokens.limited), undefined, 'another caller');
      for (const wrong of ['loud', 5, undefined]) assert.equal(await set(wrong), -32602);
      const quick = await post(server[path], legacy('tools/call', { name: 'echo' }), {
        headers: EVENTS,
        token: tokens.reader,
      });
      assert.equal(quick.type, 'application/json', 'has nothing to tell');
    });

    it(`come in its stream where a request of 2026-07-28 asks for them (${path})`, async () => {
      const headers = { ...EVENTS, ...modernHeaders('tools/call', 'narrate') };
      const ask = (level?: string, more: Record<string, string> = headers) => {
        const meta = level === undefined ? {} : { 'io.modelcontextprotocol/logLevel': level };
        return told(server[path], modern('tools/call', { name: 'narrate' }, meta), more, tokens.reader);
      };
      assert.equal(await ask(), undefined);
      assert.deepEqual(await ask('info'), [step]);
      assert.deepEqual(await ask('debug'), [step, piece]);
      assert.equal(await ask('debug', modernHeaders('tools/call', 'narrate')), undefined);
    });
  }
});

describe('a call whose client goes away', () => {
  const message = (label: string, name = 'wait') => ({ name, arguments: { label } });

  it('is aborted, at every path and in every era', async () => {
    const cases = [
      [server.url, legacy('tools/call', message('a')), {}],
      [server.sdkUrl, legacy('tools/call', message('b')), {}],
      [server.url, modern('tools/call', message('c')), modernHeaders('tools/call', 'wait')],
      [server.sdkUrl, modern('tools/call', message('d')), modernHeaders('tools/call', 'wait')],
      [server.url, legacy('tools/call', message('f', 'wait_first')), {}],
      [server.url, legacy('tools/call', { ...message('e'), _meta: { progressToken: 1 } }), EVENTS],
    ] as const;
    for (const [url, body, headers] of cases) {
      const controller = new AbortController();
      const started = once(waiting, 'started');
      const aborted = once(waiting, 'aborted');
      const call = post(url, body, { headers, signal: controller.signal });
      const [label] = await started;
      controller.abort();
      await assert.rejects(call, { name: 'AbortError' });
      assert.deepEqual(await aborted, [label]);
    }
  });
});

it('a call whose credential ends is answered with an error, at every path and in every era', async () => {
  const token = tokens.reader;
  const params = { name: 'wait', arguments: { label: 'revoked' } };
  const streamed = { ...params, _meta: { progressToken: 1 } };
  const named = modernHeaders('tools/call', 'wait');
  const cases = [
    [server.url, legacy('tools/call', params), {}],
    [server.sdkUrl, legacy('tools/call', params), {}],
    [server.url, legacy('tools/call', streamed), EVENTS],
    [server.url, modern('tools/call', params), named],
    [server.sdkUrl, modern('tools/call', params), named],
    [server.url, modern('tools/call', params, { progressToken: 1 }), { ...EVENTS, ...named }],
  ] as const;
  const answers = cases.map(async ([url, body, headers]) => {
    const { status, text, type } = await post(url, body, { token, headers });
    const messages = type === 'text/event-stream' ? eventsIn(text) : [JSON.parse(text)];
    const { isError, content } = messages.at(-1).result;
    return [status, isError, JSON.parse(content[0].text).code];
  });
  let started = 0;
  const all = new Promise<void>((resolve) => {
    waiting.on('started', () => {
      started += 1;
      if (started === cases.length) resolve();
    });
  });
  await all;
  waiting.removeAllListeners('started');
  server.revoked.add(token);
  assert.deepEqual(
    await Promise.all(answers),
    cases.map(() => [200, true, 'unauthenticated']),
  );
  server.revoked.delete(token);
});

describe('notifications/cancelled of a legacy client', () => {
  const cancel = (requestId: unknown, token: string = tokens.admin) =>
    post(server.url, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }, { token });

  async function start(url: string, id: string | number, label: string, token: string = tokens.admin, headers = {}) {
    const started = once(waiting, 'started');
    const params = { name: 'wait', arguments: { label }, ...('Accept' in headers && { _meta: { progressToken: 1 } }) };
    const controller = new AbortController();
    const call = post(url, legacy('tools/call', params, id), { token, headers, signal: controller.signal });
    call.catch(() => {});
    await started;
    return { call, leave: () => controller.abort() };
  }

  it('aborts the request of that id, which ends without an answer', async () => {
    for (const url of [server.url, server.sdkUrl]) {
      const { call } = await start(url, 'x', 'cancelled');
      const aborted = once(waiting, 'aborted');
      const other =
        url === server.url
          ? cancel('x')
          : post(server.sdkUrl, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'x' } });
      assert.equal((await other).status, 202);
      assert.deepEqual(await aborted, ['cancelled']);
      const { status, text } = await call;
      assert.deepEqual([status, text], [202, '']);
    }
  });

  it('ends the stream of a streamed call', async () => {
    const { call } = await start(server.url, 9, 'streamed', tokens.admin, EVENTS);
    await cancel(9);
    const { status, text } = await call;
    assert.deepEqual([status, eventsIn(text)], [200, []]);
  });

  it('aborts no request of another id, type of id or principal', async () => {
    const { leave } = await start(server.url, 1, 'stays');
    let aborted = false;
    waiting.once('aborted', () => {
      aborted = true;
    });
    for (const id of ['1', 2, null, {}, undefined]) await cancel(id);
    await cancel(1, tokens.reader);
    assert.equal(aborted, false);
    const ended = once(waiting, 'aborted');
    leave();
    await ended;
  });

  it('aborts none where several clients of one key use the id', async () => {
    const calls = [await start(server.url, 1, 'one'), await start(server.url, 1, 'two')];
    let aborted = 0;
    const count = () => {
      aborted += 1;
    };
    waiting.on('aborted', count);
    await cancel(1);
    assert.equal(aborted, 0);
    for (const { leave } of calls) {
      const ended = once(waiting, 'aborted');
      leave();
      await ended;
    }
    waiting.off('aborted', count);
  });
});

describe('subscriptions/listen', () => {
  async function listen(token: string = tokens.admin) {
    const message = modern('subscriptions/listen', { notifications: { toolsListChanged: true } }, {}, 'sub');
    const controller = new AbortController();
    const response = await fetch(server.url, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        ...EVENTS,
        ...modernHeaders('subscriptions/listen'),
      },
      body: JSON.stringify(message),
      signal: controller.signal,
    });
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    return { response, leave: () => controller.abort() };
  }

  it('acknowledges, notifies those whose list changed and nobody else, and ends when the door closes', async () => {
    const own = await startMcpServer();
    const streams = await Promise.all(
      [tokens.admin, tokens.nobody].map((token) => openStreamAt(own.url, credential(token))),
    );
    own.door.toolsChanged();
    const later = await openStreamAt(own.url, credential(tokens.admin));
    await until(() => later.heard.length > 0); // whoever was to hear of the list before has heard
    own.catalog.put('guest', [{ group: 'Guests', tool: { ...adminTool, name: 'guest__tool' } }]);
    own.door.toolsChanged();
    const [acknowledged, changed] = ['subscriptions/acknowledged', 'tools/list_changed'].map(
      (method) => `notifications/${method}`,
    );
    await until(() => streams[0]?.heard.at(-1) === changed);
    await own.door.close();
    await Promise.all([...streams, later].map(({ ended }) => ended));
    assert.deepEqual(pluck(streams, 'heard'), [
      [acknowledged, changed, 'complete'],
      [acknowledged, 'complete'],
    ]);
    await own.close();
  });

  it('leaves calls under way alone when the door closes', async () => {
    const own = await startMcpServer();
    const message = modern('tools/call', { name: 'count_up', arguments: { to: 10 } }, { progressToken: 1 });
    const headers = { ...EVENTS, ...modernHeaders('tools/call', 'count_up') };
    const { events } = await openEvents({ baseUrl: own.url }, '', { key: tokens.admin, body: message, headers });
    const { value: first } = await events.next(); // its progress: it has begun
    await own.door.close();
    const rest = await allEvents(events);
    assert.deepEqual([first?.data.params.progress, rest.at(-1)?.data.result.structuredContent.count], [1, 10]);
    await own.close();
  });

  it('ends by itself once the credential is not valid any more', async () => {
    const { response } = await listen(tokens.reader);
    server.revoked.add(tokens.reader);
    await response.text();
    server.revoked.delete(tokens.reader);
  });

  it('stays open while the credential is valid', async () => {
    const { response, leave } = await listen();
    const ended = response.text().then(
      () => 'ended',
      () => 'left',
    );
    const { response: other } = await listen(tokens.reader);
    server.revoked.add(tokens.reader);
    const later = other.text().then(() => 'open'); // the credentials of both streams were asked for again
    assert.equal(await Promise.race([ended, later]), 'open');
    server.revoked.delete(tokens.reader);
    leave();
    assert.equal(await ended, 'left');
  });

  it('lets each caller hold a bounded number of streams', async () => {
    const streams = await Promise.all(Array.from({ length: 100 }, () => listen(tokens.limited)));
    const message = modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const headers = { ...EVENTS, ...modernHeaders('subscriptions/listen') };
    const { type, body } = await post(server.url, message, { headers, token: tokens.limited });
    assert.equal(type, 'application/json');
    assert.match(body.error.message, /100/);
    const other = await listen(tokens.nobody);
    for (const { leave } of [...streams, other]) leave();
  });

  it('is refused in JSON where events are not accepted, and where the filter is malformed', async () => {
    const plain = await post(server.url, modern('subscriptions/listen', { notifications: {} }), {
      headers: modernHeaders('subscriptions/listen'),
    });
    assert.deepEqual([plain.status, plain.body.error.code], [400, -32600]);
    const message = legacy('subscriptions/listen', { notifications: 5, _meta: modernMeta });
    const wrong = await post(server.url, message, { headers: { ...EVENTS, ...modernHeaders('subscriptions/listen') } });
    assert.equal(wrong.body.error.code, -32602);
  });
});
