import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createFetch } from '../../../tools/core/outbound/fetch.ts';
import { onLoopback } from '../../support/loopback.ts';

describe('a stream of events from an integration', () => {
  it('can be given up at its last event, as its end comes, and leaves no error that nobody catches', async () => {
    let answer: ServerResponse | undefined;
    const server = createServer((_, response) => {
      answer = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: first\n\n');
    });
    const upstream = await onLoopback(server);
    const { fetch, close } = createFetch({ privateAddresses: true, mostBytes: 1000 });
    for (let time = 0; time < 20; time += 1) {
      const giveUp = new AbortController();
      const { body } = await fetch(upstream.url, { signal: giveUp.signal });
      assert.ok(body);
      const reader = body.getReader();
      await reader.read();
      answer?.end('data: last\n\n');
      await reader.read();
      giveUp.abort();
      await setImmediate();
      await reader.cancel().catch(() => undefined);
    }
    close();
    await upstream.close();
  });
});
