import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf } from '../../support/calls.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import {
  callRaw,
  connectHttp,
  errorOfCall,
  startUpstream,
  toolCalled,
  withProgram,
  withTools,
} from '../../support/upstream.ts';

// alone: measures the memory of its process
const server = await startTestServer();
const fake = await startUpstream();
const { must, call } = callsOf(server);

describe('what an upstream answers', () => {
  it('is refused at 100 MiB, unread, whether as JSON, as an event or as a line', async () => {
    const big = (response: import('node:http').ServerResponse, type: string, start: string) => {
      response.writeHead(200, { 'Content-Type': type });
      response.write(start);
      const chunk = Buffer.alloc(1 << 20, 'x');
      let left = 100;
      const more = () => {
        while (left > 0 && !response.destroyed) {
          left -= 1;
          if (!response.write(chunk)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
      return () => left;
    };
    let left = () => 0;
    const before = process.memoryUsage().rss;
    await withTools(server, fake, [toolCalled('json'), toolCalled('events')], async () => {
      fake.intercept = (_, response, { id, method, params }) => {
        if (method !== 'tools/call') return false;
        const json = params.name === 'json';
        const start = `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`;
        left = big(
          response,
          json ? 'application/json' : 'text/event-stream',
          json ? start : `event: message\ndata: ${start}`,
        );
        return true;
      };
      for (const name of ['json', 'events']) {
        const { code, error } = await errorOfCall(server, `fake__${name}`);
        assert.equal(code, 'too_large', error);
        assert.ok(left() > 80, `${left()} MiB were not asked for`);
      }
    });
    await withProgram(server, [], async () => {
      const [huge, other] = await Promise.all([
        errorOfCall(server, 'program__huge', { mebibytes: 100 }),
        callRaw(server, 'program__echo', { text: 'meanwhile' }),
      ]);
      assert.equal(huge.code, 'too_large');
      assert.equal(other.content[0].text, 'meanwhile');
      const { calls } = JSON.parse((await callRaw(server, 'program__pid')).content[0].text);
      assert.equal(calls, 3, 'the program was not ended for it');
    });
    const grown = (process.memoryUsage().rss - before) / (1 << 20);
    assert.ok(grown < 80, `${grown} MiB more`);
  });

  it('is waited for as long as the integration says, and no call of another one waits with it', async () => {
    await withTools(
      server,
      fake,
      [toolCalled('never')],
      async (id) => {
        fake.intercept = (_, __, { method }) => method === 'tools/call';
        const started = Date.now();
        const slow = errorOfCall(server, 'fake__never');
        assert.ok('output' in (await call('list_agents')));
        const { code, error } = await slow;
        assert.equal(code, 'unavailable');
        assert.match(error, /did not answer in time/);
        assert.ok(Date.now() - started < 20_000);
        await until(async () => (await must('get_integration', { id })).status.state === 'connected');
      },
      { timeoutMs: 1000 },
    );
  });

  it('is an error like any other if it reports one, with its words quoted', async () => {
    await withTools(server, fake, [toolCalled('fails')], async () => {
      fake.intercept = (_, response, { id, method, params }) => {
        if (method !== 'tools/call') return false;
        const answers: Record<string, object> = {
          tool: { result: { isError: true, content: [{ type: 'text', text: `Line one\n\u202eline two` }] } },
          params: { error: { code: -32_602, message: 'no such city' } },
          internal: { error: { code: -32_603, message: 'boom' } },
          nonsense: { result: { content: 5 } },
          deep: {
            result: { content: [], structuredContent: JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`) },
          },
          input: { result: { resultType: 'input_required', inputRequests: {} } },
        };
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answers[params.arguments.as] }));
        return true;
      };
      const told = async (as: string) => {
        const { code, error } = await errorOfCall(server, 'fake__fails', { as });
        return [code, error];
      };
      assert.deepEqual(await told('tool'), [
        'conflict',
        'The tool of fake answered with an error: "Line one\\nline two"',
      ]);
      assert.match((await told('params')).join(), /^invalid_input,.*"(MCP error -32602: )?no such city"$/);
      assert.match((await told('internal')).join(), /^conflict,.*boom"$/);
      for (const as of ['nonsense', 'input']) assert.equal((await told(as))[0], 'unavailable', as);
    });
  });

  it('is refused where it nests without end, whatever way it comes, and harms nobody', async () => {
    const deep = `{"content":[],"structuredContent":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`;
    await withTools(server, fake, [toolCalled('json'), toolCalled('events')], async () => {
      fake.intercept = (_, response, { id, method, params }) => {
        if (method !== 'tools/call') return false;
        const json = params.name === 'json';
        const text = `{"jsonrpc":"2.0","id":${id},"result":${deep}}`;
        response.writeHead(200, { 'Content-Type': json ? 'application/json' : 'text/event-stream' });
        response.end(json ? text : `event: message\ndata: ${text}\n\n`);
        return true;
      };
      for (const name of ['json', 'events'])
        assert.equal((await errorOfCall(server, `fake__${name}`)).code, 'too_large', name);
    });
    await withProgram(server, [], async () => {
      assert.equal((await errorOfCall(server, 'program__deep')).code, 'too_large');
      assert.equal((await callRaw(server, 'program__echo', { text: 'still there' })).content[0].text, 'still there');
    });
  });

  it('follows no redirect to another host', async () => {
    const other = await startUpstream(toolCalled('stolen'));
    try {
      fake.intercept = (_, response) => {
        response.writeHead(307, { Location: other.url.replace('127.0.0.1', 'localhost') }).end();
        return true;
      };
      const { id, status } = await connectHttp(server, fake.url, { headers: { Authorization: 'Bearer stays-here' } });
      assert.equal(status.state, 'unavailable');
      assert.match(status.lastError, /not followed/);
      assert.equal(other.requests.length, 0);
      await must('delete_integration', { id });
    } finally {
      fake.intercept = () => false;
      await other.close();
    }
  });

  it('holds up nobody else in a flood of notifications', async () => {
    await withProgram(server, [], async () => {
      const flood = callRaw(server, 'program__flood');
      const calls = async () => JSON.parse((await callRaw(server, 'program__pid')).content[0].text).calls;
      const before = await calls();
      await until(async () => (await calls()) > before + 1); // the flood has begun: it is one of them
      for (let count = 0; count < 20; count += 1) {
        assert.ok('output' in (await call('list_agents', { limit: 1 })));
      }
      assert.equal((await callRaw(server, 'program__dam')).content[0].text, 'dammed');
      assert.equal((await flood).content[0].text, 'flooded');
    });
  });
});
