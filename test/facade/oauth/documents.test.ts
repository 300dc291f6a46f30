import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { findClient } from '../../../facade/oauth/clients.ts';
import { ClientDocuments, forAddress, isDocumentAddress, LARGEST_DOCUMENT } from '../../../facade/oauth/documents.ts';
import { createFetch } from '../../../tools/core/outbound/fetch.ts';
import { stoppedAtEnd } from '../../support/at-end.ts';
import { CALLBACK } from '../../support/oauth.ts';
import { serverForTests, TestClock } from '../../support/server.ts';
import { forgetCounts } from '../../support/store.ts';

const server = serverForTests();
const clock = new TestClock();

/** The host of the documents. It answers what the test says. */
let answer: RequestListener;
let asked = 0;
const host = stoppedAtEnd(
  createServer((request, response) => {
    asked += 1;
    answer(request, response);
  }),
);
let address: string;
let path = 0;

before(async () => {
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => {
  asked = 0;
  path += 1;
  address = `https://127.0.0.1:${(host.address() as AddressInfo).port}/client${path}.json`;
  answer = (_, response) => response.end(JSON.stringify(document()));
});

const document = (more: object = {}) => ({
  client_id: address,
  client_name: 'Published',
  redirect_uris: [CALLBACK],
  ...more,
});

/** The guards of integrations, over a wire without encryption. */
const guarded = createFetch({ privateAddresses: true, mostBytes: LARGEST_DOCUMENT });
const plain = (url: string | URL, init?: RequestInit) => guarded.fetch(String(url).replace('https:', 'http:'), init);
after(() => guarded.close());

function documents(fetch = plain, deadlineMs = 60_000) {
  const found = new ClientDocuments({ store: server.store, fetch, now: clock.now, deadlineMs });
  return { find: async (id = address) => found.find(id, await findClient(server.store, id)) };
}

const refusal = (why: RegExp) => (thrown: unknown) => {
  assert.ok(thrown instanceof Error && 'error_description' in thrown);
  assert.equal(thrown.message, 'invalid_client');
  assert.match(String(thrown.error_description), why);
  return true;
};

describe('client ID metadata documents', () => {
  it('are read at the id, and kept', async () => {
    const client = await documents().find();
    assert.deepEqual([client?.kind, client?.name, client?.redirectUris], ['metadata', 'Published', [CALLBACK]]);
    assert.equal(client?.metadata.token_endpoint_auth_method, 'none');
  });

  it('are asked for again after as long as they say, from 5 minutes to a day', async () => {
    answer = (_, response) => {
      response.setHeader('Cache-Control', 'public, max-age=3600');
      response.end(JSON.stringify(document({ client_name: `Name ${asked}` })));
    };
    const { find } = documents();
    await find();
    clock.pass(59 * 60_000);
    assert.equal((await find())?.name, 'Name 1');
    clock.pass(60_000);
    assert.equal((await find())?.name, 'Name 2');
    assert.equal(asked, 2);
  });

  it('are asked for once, however many want to know', async () => {
    const { find } = documents();
    await Promise.all(Array.from({ length: 10 }, () => find()));
    assert.equal(asked, 1);
  });

  it('serve while their host is away, also after a restart', async () => {
    await documents().find();
    for (const away of [
      ((_, response) => response.socket?.destroy()) as RequestListener,
      ((_, response) => response.writeHead(503).end()) as RequestListener,
    ]) {
      answer = away;
      assert.equal((await documents().find())?.name, 'Published');
    }
  });

  it('serve no more when their host took them back', async () => {
    await documents().find();
    answer = (_, response) => response.writeHead(404).end();
    const later = documents();
    await assert.rejects(later.find(), refusal(/404/));
    await assert.rejects(later.find(), refusal(/404/));
    assert.equal(asked, 2); // a refusal is remembered for a minute
    clock.pass(60_000);
    await assert.rejects(later.find(), refusal(/404/));
    assert.equal(asked, 3);
  });

  it('are refused where they are not what they should be', async () => {
    for (const [body, why] of [
      [JSON.stringify({ ...document(), client_id: `${address}x` }), /client_id is not its own address/],
      [JSON.stringify({ redirect_uris: [CALLBACK] }), /client_id is not its own address/],
      [JSON.stringify(document({ client_secret: 'x' })), /publishes a secret/],
      [JSON.stringify(document({ token_endpoint_auth_method: 'client_secret_basic' })), /cannot hold a secret/],
      [JSON.stringify(document({ token_endpoint_auth_method: 'private_key_jwt' })), /needs jwks/],
      [JSON.stringify(document({ redirect_uris: ['javascript:alert(1)'] })), /must not use the scheme/],
      [JSON.stringify(document({ redirect_uris: undefined })), /redirect_uris/],
      ['<html>', /not JSON/],
      ['[]', /client_id/],
      ['null', /client_id/],
    ] as const) {
      answer = (_, response) => response.end(body);
      await assert.rejects(documents().find(), refusal(why), body);
    }
  });

  it('are not followed elsewhere', async () => {
    const inner = `http://127.0.0.1:${(host.address() as AddressInfo).port}/secret`;
    answer = (_, response) => response.writeHead(302, { Location: inner }).end();
    await assert.rejects(documents().find(), refusal(/302/));
    assert.equal(asked, 1);
  });

  it('may be neither large nor endless', async () => {
    answer = (_, response) => response.end(JSON.stringify(document({ padding: 'x'.repeat(LARGEST_DOCUMENT) })));
    await assert.rejects(documents().find(), refusal(/could not be read/));
    let sent = 0;
    answer = (_, response) => {
      const more = setInterval(() => {
        sent += 1;
        response.write(' ');
      }, 5);
      response.on('close', () => clearInterval(more));
    };
    await assert.rejects(documents(plain, 300).find(), refusal(/could not be read/));
    assert.ok(sent > 0 && sent < LARGEST_DOCUMENT);
  });

  it('at private addresses are not asked for', async () => {
    const guards = createFetch({ privateAddresses: false, mostBytes: LARGEST_DOCUMENT });
    const { find } = documents(guards.fetch);
    const port = (host.address() as AddressInfo).port;
    for (const name of [
      '127.0.0.1',
      'localhost',
      '[::1]',
      '10.0.0.1',
      '169.254.169.254',
      '192.168.1.1',
      '[::ffff:7f00:1]',
    ]) {
      await assert.rejects(find(`https://${name}:${port}/client.json`), refusal(/could not be read/), name);
    }
    assert.equal(asked, 0);
    guards.close();
  });

  it('have an address of https with a path, written as it is sent', () => {
    assert.ok(isDocumentAddress('https://claude.ai/oauth/client.json'));
    assert.ok(isDocumentAddress('https://app.example:8443/c?v=1'));
    for (const bad of [
      'http://app.example/c',
      'https://app.example',
      'https://app.example/',
      'https://app.example/a/../c',
      'https://app.example/./c',
      'https://user:pw@app.example/c',
      'https://app.example/c#x',
      'https://APP.example/c',
      'https://app.example:443/c',
      'https://app.example/c d',
      'https:/app.example/c',
      `https://app.example/${'c'.repeat(500)}`,
      'ocl_1',
    ]) {
      assert.equal(isDocumentAddress(bad), false, bad);
    }
  });

  it('take little room: of those that nobody uses, the oldest go', async () => {
    const kept = { kind: 'metadata' as const, name: 'Unused', redirectUris: [CALLBACK], metadata: {} };
    await server.store.transaction(async ({ oauthClients }) => {
      for (let at = 0; at < 1100; at += 1)
        await oauthClients.insert({ clientId: `https://full.example/${at}`, ...kept });
    });
    await documents().find();
    assert.equal((await server.store.oauthClients.count({ where: { kind: 'metadata', name: 'Unused' } })) < 1000, true);
    assert.ok(await findClient(server.store, address), 'the new one is there');
    assert.ok(await findClient(server.store, 'https://full.example/1099'));
    assert.equal(await findClient(server.store, 'https://full.example/0'), undefined);
  });

  it('are looked up 10 times a minute for one address, so that it leaves others their share', async () => {
    const { find } = documents();
    const lookUp = (from: string, at: number) => forAddress.run(from, () => find(`${address}?of=${from}&at=${at}`));
    const answers = await Promise.allSettled(Array.from({ length: 15 }, (_, at) => lookUp('2001:db8::1', at)));
    assert.equal(answers.filter(({ status }) => status === 'rejected').length, 15);
    const refused = answers.filter((each) => /temporarily/.test(String('reason' in each && each.reason)));
    assert.equal(refused.length, 5);
    const neighbour = await Promise.allSettled([lookUp('2001:db8::2', 0), lookUp('2001:db8:1::1', 0)]);
    assert.deepEqual(
      neighbour.map((each) => /temporarily/.test(String('reason' in each && each.reason))),
      [true, false],
    );
  });

  it('are looked up 1,200 times a minute at most, and those that are known serve on', async () => {
    await forgetCounts(server.folder);
    let reached = 0;
    const { find } = documents(async (url) => {
      reached += 1;
      return url === address ? plain(url) : new Response('', { status: 404 });
    });
    const client = await find();
    assert.equal(client?.kind, 'metadata');
    for (let at = 1; at < 1200; at += 1) await find(`${address}?${at}`).catch(() => {});
    assert.equal(reached, 1200);
    clock.pass(10 * 60_000);
    await assert.rejects(find(`${address}?more`), refusalOf('temporarily_unavailable'));
    assert.equal((await find())?.id, client?.id);
    assert.equal(reached, 1200);
  });
});

function refusalOf(code: string) {
  return (thrown: unknown) => thrown instanceof Error && thrown.message === code;
}
