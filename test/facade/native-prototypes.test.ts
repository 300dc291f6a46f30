import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import express from 'express';
import { createNativeServer } from '../../facade/http/native-prototypes.ts';
import { stoppedAtEnd } from '../support/at-end.ts';

it('createNativeServer gives requests and responses their final prototypes before Express sees them, and keeps what Express adds', async () => {
  const { server, mount } = createNativeServer(() => {}, assert.ifError);
  const before: object[] = [];
  const after: object[] = [];
  server.prependListener('request', (request, response) =>
    before.push(Object.getPrototypeOf(request), Object.getPrototypeOf(response)),
  );
  const app = express();
  app.get('/', (request, response) => {
    after.push(Object.getPrototypeOf(request), Object.getPrototypeOf(response));
    response.status(201).json({ host: request.hostname, host2: request.get('host') !== undefined });
  });
  stoppedAtEnd(server).listen(0, '127.0.0.1');
  await once(server, 'listening');
  mount(app);
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  assert.deepEqual([response.status, await response.json()], [201, { host: '127.0.0.1', host2: true }]);
  assert.equal(before[0], after[0], 'Express sets the prototype a request has already');
  assert.equal(before[1], after[1], 'and that of a response');
  server.close();
});
