import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { RequestContext } from '../../facade/http/request-context.ts';
import { ResourceUpdates } from '../../facade/mcp/resource-updates.ts';
import { stoppedAtEnd } from '../support/at-end.ts';
import { openTestRegistry, principalOf, type TestRegistry } from '../support/registry.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

/** More than the system takes on its way to a reader that takes nothing. */
const MORE_THAN_FITS = Buffer.alloc(64 * 1024 * 1024, 'x');
const RECORDS = 100;
const principal = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });

let workspace: TestRegistry;
let updates: ResourceUpdates;
const server = stoppedAtEnd(createServer());
before(async () => {
  workspace = await openTestRegistry();
  updates = new ResourceUpdates({ ...workspace, onError: (cause) => assert.fail(String(cause)) });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
after(async () => {
  updates.close();
  server.close();
  await workspace.close();
});

/** A stream whose reader stops reading at the first notification, until it is resumed. */
async function slowStream(uris: readonly string[]) {
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const reader: Socket = connect(port, '127.0.0.1').pause();
  reader.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [request, response]: [IncomingMessage, ServerResponse] = (await once(server, 'request')) as never; // as its type says
  const context = new RequestContext(request, response);
  context.admit(principal, { checkCredential: async () => principal });
  const told: string[] = [];
  const stop = updates.follow(context, new Map(uris.map((uri) => [uri, uri])), (uri) => {
    told.push(uri);
    // A stream hands on what it is given a moment later.
    setImmediate(() => response.write(told.length === 1 ? MORE_THAN_FITS : 'x'));
  });
  response.on('close', stop);
  return { told, reader };
}

async function makeDocuments(): Promise<string[]> {
  return workspace.store.transaction(async (tx) => {
    const ids: string[] = [];
    for (let at = 0; at < RECORDS; at += 1) {
      ids.push((await tx.documents.insert({ title: `D${at}`, content: '', tags: [] })).id);
    }
    return ids;
  });
}

async function changeAll(ids: readonly string[], content: string): Promise<void> {
  await workspace.store.transaction(async (tx) => {
    for (const id of ids) await tx.documents.update(id, { content });
  });
  for (let at = 0; at < 3 * RECORDS; at += 1) await turn();
}

describe('a subscriber that reads slowly', () => {
  it('gets no more notifications than fit, and the others once it reads: one for each record', async () => {
    const ids = await makeDocuments();
    const uris = ids.map((id) => `document://${id}`);
    const { told, reader } = await slowStream(uris);
    for (const content of ['one', 'two', 'three']) await changeAll(ids, content);
    assert.equal(told.length, 1);
    reader.resume();
    await until(() => told.length > RECORDS);
    assert.deepEqual(told.toSorted(), [...uris, told[0]].sort());
    reader.destroy();
  });

  it('is notified of a deletion of a record whose notification still waited', async () => {
    const [first = '', second = ''] = await makeDocuments();
    const { told, reader } = await slowStream([`document://${first}`, `document://${second}`]);
    await changeAll([first, second], 'new');
    await writing(workspace.store).documents.delete(second);
    reader.resume();
    await until(() => told.length > 1);
    assert.deepEqual(told, [`document://${first}`, `document://${second}`]);
    reader.destroy();
  });
});
