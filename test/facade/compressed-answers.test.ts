import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Capsule, capsuleClients } from '../support/capsules.ts';
import { rounds } from '../support/full.ts';
import { lazyChecks, oldLazyChecks } from '../support/mcp-validators.ts';
import { pluck } from '../support/pluck.ts';
import { fc } from '../support/property.ts';
import { serverForTests } from '../support/server.ts';
import { legacy, modern, modernHeaders } from './mcp-requests.ts';

const ORIGIN = 'https://pages.example';
const server = serverForTests({ ALLOWED_ORIGINS: ORIGIN });
const { make } = capsuleClients(() => server);

interface Raw {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

interface Asked {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: object;
  readonly method?: string;
}

async function raw(path: string, { token = server.adminKey, headers = {}, message, method }: Asked): Promise<Raw> {
  const asking = request(`${server.baseUrl}${path}`, {
    method: method ?? (message ? 'POST' : 'GET'),
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
  });
  asking.end(message && JSON.stringify(message));
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, bytes: await buffer(answer) };
}

const GZIP = { 'Accept-Encoding': 'gzip' };

let made: Promise<Capsule> | undefined;
const capsule = () => {
  made ??= make({ allowedTools: ['*_agent*', '*_skill*'] });
  return made;
};

const doors: Readonly<Record<string, () => Promise<{ readonly path: string; readonly token: string }>>> = {
  unified: async () => ({ path: '/api/v1/mcp', token: server.adminKey }),
  capsule: async () => {
    const { id, token } = await capsule();
    return { path: `/api/capsules/${id}/mcp`, token };
  },
};
const eras = {
  legacy: (id: string | number) => ({ message: legacy('tools/list', undefined, id), headers: {} }),
  modern: (id: string | number) => ({
    message: modern('tools/list', {}, {}, id),
    headers: modernHeaders('tools/list'),
  }),
};

for (const [door, at] of Object.entries(doors)) {
  for (const [era, listIn] of Object.entries(eras)) {
    describe(`a list for a client that accepts gzip, ${door}, ${era}`, () => {
      async function bothWays(id: string | number) {
        const { path, token } = await at();
        const { message, headers } = listIn(id);
        const plain = await raw(path, { token, message, headers });
        const zipped = await raw(path, { token, message, headers: { ...headers, ...GZIP } });
        assert.deepEqual([plain.status, zipped.status], [200, 200]);
        assert.equal(plain.headers['content-encoding'], undefined);
        assert.equal(zipped.headers['content-encoding'], 'gzip');
        for (const { headers: got, bytes } of [plain, zipped]) {
          assert.equal(got['content-length'], String(bytes.length));
          assert.equal(got.vary, 'Accept-Encoding');
          assert.equal(got['content-type'], 'application/json');
        }
        const unzipped = gunzipSync(zipped.bytes);
        assert.ok(unzipped.equals(plain.bytes), 'both say the same, byte by byte');
        assert.equal(JSON.parse(unzipped.toString()).id, id);
        return { plain, zipped };
      }

      it('is the plain one compressed', async () => {
        const { plain, zipped } = await bothWays(1);
        assert.ok(zipped.bytes.length * 4 < plain.bytes.length, `${zipped.bytes.length} of ${plain.bytes.length}`);
      });

      it('has ids of any length, also longer than a block of deflate, and any characters', async () => {
        const around = [65_534, 65_535, 65_536, 2 * 65_535].flatMap((length) => [length - 24, length - 23, length]);
        for (const length of [...around, 70_000, 200_000]) await bothWays('x'.repeat(length));
        for (const id of [0, -1, 2 ** 53 - 1, '', '"\\', 'ä€😀'.repeat(20_000)]) await bothWays(id);
      });

      it('has any id', async () => {
        const ids = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.maxSafeInteger());
        await fc.assert(
          fc.asyncProperty(ids, async (id) => void (await bothWays(id))),
          { numRuns: rounds(5, 20) },
        );
      });
    });
  }
}

it('a page of another origin gets compressed lists that vary by both', async () => {
  const headers = { ...GZIP, Origin: ORIGIN };
  const answer = await raw('/api/v1/mcp', { message: legacy('tools/list'), headers });
  assert.deepEqual([answer.headers['content-encoding'], answer.headers.vary], ['gzip', 'Origin, Accept-Encoding']);
});

it('a client that does not accept gzip gets the list as it is', async () => {
  for (const accepted of ['gzip;q=0', 'br', 'identity', 'x-gzipped', '', 'gzip ; q=0.0, *']) {
    const { headers, bytes } = await raw('/api/v1/mcp', {
      message: legacy('tools/list'),
      headers: { 'Accept-Encoding': accepted },
    });
    assert.equal(headers['content-encoding'], undefined, accepted);
    assert.equal(JSON.parse(bytes.toString()).id, 1);
  }
});

it('the OpenAPI document is compressed for a client that accepts it, also in the headers of HEAD', async () => {
  const plain = await raw('/api/v1/openapi', {});
  const zipped = await raw('/api/v1/openapi', { headers: { 'Accept-Encoding': 'br, GZIP;q=0.5' } });
  assert.equal(zipped.headers['content-encoding'], 'gzip');
  assert.equal(zipped.headers['content-type'], 'application/json; charset=utf-8');
  assert.ok(gunzipSync(zipped.bytes).equals(plain.bytes));
  assert.ok(zipped.bytes.length * 4 < plain.bytes.length);
  const head = await raw('/api/v1/openapi', { method: 'HEAD', headers: GZIP });
  assert.deepEqual([head.status, head.bytes.length], [200, 0]);
  assert.equal(head.headers['content-length'], zipped.headers['content-length']);
});

describe('clients', () => {
  /** The encodings of the answers, as the clients' own `fetch` sees them. */
  const encodings: (string | null)[] = [];
  const recording = async (...given: Parameters<typeof fetch>) => {
    const answer = await fetch(...given);
    encodings.push(answer.headers.get('content-encoding'));
    return answer;
  };
  const options = () => ({
    fetch: recording,
    requestInit: { headers: { Authorization: `Bearer ${server.adminKey}` } },
  });
  const url = () => new URL(`${server.baseUrl}/api/v1/mcp`);
  const info = { name: 'test', version: '1' };
  const plainList = async () =>
    JSON.parse((await raw('/api/v1/mcp', { message: legacy('tools/list') })).bytes.toString()).result.tools;

  for (const mode of ['legacy', 'auto'] as const) {
    it(`of SDK 2 (${mode}) read compressed lists`, async () => {
      // Its list names pages in both revisions, as it does for a plain script.
      const capabilities = {
        extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
      };
      const client = new Client(info, { versionNegotiation: { mode }, capabilities, ...lazyChecks() });
      await client.connect(new StreamableHTTPClientTransport(url(), options()));
      const { tools } = await client.listTools();
      assert.equal(encodings.at(-1), 'gzip');
      assert.deepEqual(tools, await plainList());
      await client.close();
    });
  }

  it('of SDK 1 read compressed lists', async () => {
    const client = new OldClient(info, oldLazyChecks());
    await client.connect(new OldTransport(url(), options()) as Parameters<OldClient['connect']>[0]); // see mcp-clients
    const { tools } = await client.listTools();
    assert.equal(encodings.at(-1), 'gzip');
    assert.deepEqual(
      pluck(tools, 'name'),
      (await plainList()).map(({ name }: { name: string }) => name),
    );
    await client.close();
  });

  it('that go away before their list is sent harm nobody', async () => {
    for (let count = 0; count < 20; count += 1) {
      const asking = request(`${server.baseUrl}/api/v1/mcp`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${server.adminKey}`, 'Content-Type': 'application/json', ...GZIP },
      });
      const gone = new Promise((resolve) => asking.on('close', resolve));
      asking.on('error', () => {}); // that its connection was closed
      asking.end(JSON.stringify(legacy('tools/list')), () => asking.destroy());
      await gone;
    }
    assert.equal((await raw('/api/v1/mcp', { message: legacy('tools/list') })).status, 200);
  });
});
