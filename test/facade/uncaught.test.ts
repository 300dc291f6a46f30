import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import express from 'express';
import { pino } from 'pino';
import { createOnUncaught } from '../../facade/http/answer-errors.ts';
import { createNativeServer } from '../../facade/http/native-prototypes.ts';
import { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import { stoppedAtEnd } from '../support/at-end.ts';
import { mustCall, rest } from '../support/calls.ts';
import { spawnServer, withFolder } from '../support/child.ts';
import { send } from '../support/http.ts';
import { pluck } from '../support/pluck.ts';
import { until } from '../support/until.ts';

const KEY = `ak_uncaught_${'k'.repeat(40)}`;
const LEFT = { leaves_timer: 'timer', leaves_promise: 'promise', leaves_listener: 'listener' };

describe('an error that nobody catches', () => {
  it('is logged and counted, and the process goes on answering', async () => {
    await withFolder(async (folder) => {
      const server = await spawnServer(folder, { BOOTSTRAP_API_KEY: KEY }, 'test/facade/uncaught-server.ts');
      const baseUrl = await server.listens;
      for (const [tool, place] of Object.entries(LEFT)) {
        assert.deepEqual(await mustCall({ baseUrl }, KEY, tool), { ok: true });
        await until(() => server.said().includes(`left in a ${place}`) || server.process.exitCode !== null);
        assert.equal((await rest({ baseUrl }, 'GET', '/api/v1/agents', { key: KEY })).status, 200);
      }
      const headers = { Authorization: `Bearer ${KEY}` };
      const { text } = await send(`${baseUrl}/api/v1/metrics`, { headers });
      assert.match(text, /^agent_admin_uncaught_errors_total\{error_type="TypeError"\} 3$/m);
      assert.equal(server.said().match(/"msg":"uncaught error"/g)?.length, 3);
      server.process.kill('SIGTERM');
      assert.deepEqual(await server.ended, { code: 0, signal: null });
    });
  });

  it('of the request that is being answered ends that request alone, with 500 and its id', async () => {
    const lines: Record<string, unknown>[] = [];
    const telemetry = new Telemetry();
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const { server, mount } = createNativeServer(() => {}, createOnUncaught(logger, telemetry));
    mount(express(), ({ url }, response) => {
      if (url === '/late') response.writeHead(200);
      throw new TypeError('unexpected');
    });
    stoppedAtEnd(server).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const requestId of ['one', 'two']) {
      const { status, body } = await rest({ baseUrl }, 'GET', '/', { headers: { 'X-Request-Id': requestId } });
      assert.deepEqual([status, body.code, body.requestId], [500, 'internal', requestId]);
    }
    await assert.rejects(send(`${baseUrl}/late`), 'an answer that had begun is cut off');
    assert.deepEqual(pluck(lines.slice(0, 2), 'requestId'), ['one', 'two']);
    const [point] = telemetry.measures.uncaught.read().points;
    assert.ok(point && 'value' in point && point.value === lines.length, 'each is counted');
    server.close();
  });
});
