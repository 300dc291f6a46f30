import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { readConfig } from '../../facade/config/config.ts';
import { mustCall, rest } from '../support/calls.ts';
import { serverForTests, startTestServer, type TestServer } from '../support/server.ts';

const FORWARDED = 'X-Forwarded-For';

function tryToSignIn(server: { baseUrl: string }, forwarded: string) {
  return rest(server, 'POST', '/api/v1/auth/session', {
    body: { idToken: 'nonsense' },
    headers: { [FORWARDED]: forwarded },
  });
}

/** The address that the audit log names for an attempt with the header. */
async function callerOf(server: TestServer, forwarded: string): Promise<string> {
  assert.equal((await tryToSignIn(server, forwarded)).status, 401);
  const { data } = await mustCall(server, server.adminKey, 'list_audit_entries', { tool: 'create_session', limit: 1 });
  return data[0].principal.id;
}

/** The status of the last of 21 attempts, each with a header of its own. */
async function lastOf21(server: { baseUrl: string }, header: (count: number) => string): Promise<number> {
  let status = 0;
  for (let count = 0; count < 21; count += 1) ({ status } = await tryToSignIn(server, header(count)));
  return status;
}

describe('X-Forwarded-For from a trusted proxy', () => {
  const server = serverForTests({ TRUSTED_PROXIES: 'loopback, 10.0.0.0/8,2001:db8:1::/48' });

  it('names the caller: the right-most address that is no trusted proxy', async () => {
    for (const [header, caller] of [
      ['203.0.113.7', '203.0.113.7'],
      ['198.51.100.1, 203.0.113.8', '203.0.113.8'],
      ['198.51.100.1, 203.0.113.9, 10.1.2.3', '203.0.113.9'],
      ['198.51.100.1,203.0.113.10 ,10.1.2.3,127.0.0.9, ::1', '203.0.113.10'],
      ['203.0.113.11, 2001:db8:1::5', '203.0.113.11'],
      ['198.51.100.1, 2001:db8:2::5', '2001:db8:2::5'],
      ['198.51.100.1, ::ffff:203.0.113.12, ::ffff:10.1.2.3', '203.0.113.12'],
      ['10.1.1.1, 10.2.2.2', '10.1.1.1'],
      ['203.0.113.13:52111', '203.0.113.13'],
      ['[2001:db8:2::6]:443', '2001:db8:2::6'],
      ['2001:0DB8:0002:0:0:0:0:7', '2001:db8:2::7'],
    ] as const) {
      assert.equal(await callerOf(server, header), caller, header);
    }
  });

  it('names the nearest proxy where the header is garbage', async () => {
    for (const [header, caller] of [
      ['', '127.0.0.1'],
      ['nonsense', '127.0.0.1'],
      ['203.0.113.7, ', '203.0.113.7'],
      ['203.0.113.7, unknown, 10.1.2.3', '10.1.2.3'],
      ['203.0.113.7, 999.1.1.1', '127.0.0.1'],
      ['203.0.113.7, 10.0.0.1/8', '127.0.0.1'],
      ['203.0.113.7, fe80::1%eth0', '127.0.0.1'],
      [`203.0.113.7, ${'9'.repeat(4000)}`, '127.0.0.1'],
      [',,,,', '127.0.0.1'],
    ] as const) {
      assert.equal(await callerOf(server, header), caller, header.slice(0, 60));
    }
  });

  it('has attempts to sign in counted for each caller, whatever they claim themselves', async () => {
    assert.equal(await lastOf21(server, (count) => `198.51.100.${count}`), 401, 'callers of their own');
    assert.equal(await lastOf21(server, (count) => `198.51.100.${count}, 203.0.113.99`), 429, 'one that claims others');
    assert.equal(await lastOf21(server, (count) => `2001:db8:3:4::${count.toString(16)}`), 429, 'one IPv6 network');
  });

  it('joins several headers', async () => {
    const socket = connect(Number(new URL(server.baseUrl).port), '127.0.0.1');
    await once(socket, 'connect');
    const lines = ['GET /api/v1/agents HTTP/1.1', 'Host: localhost', 'X-Request-Id: several', 'Connection: close'];
    socket.end(`${[...lines, `${FORWARDED}: 198.51.100.1`, `${FORWARDED}: 203.0.113.21`].join('\r\n')}\r\n\r\n`);
    await socket.resume().toArray();
    assert.equal(server.log.find(({ requestId }) => requestId === 'several')?.address, '203.0.113.21');
  });
});

describe('X-Forwarded-For from anybody else', () => {
  it('counts for nothing', async () => {
    for (const env of [{}, { TRUSTED_PROXIES: '10.0.0.0/8, ::1' }]) {
      const server = await startTestServer(env as Record<string, string>);
      assert.equal(await callerOf(server, '203.0.113.7'), '127.0.0.1');
      assert.equal(await lastOf21(server, (count) => `203.0.113.${count}`), 429);
    }
  });

  it('counts for nothing over IPv6 either, and does from a proxy there', async () => {
    for (const [TRUSTED_PROXIES, caller] of [
      ['127.0.0.1', '::1'],
      ['::1', '203.0.113.7'],
    ] as const) {
      const servers = [await startOverIPv6({ TRUSTED_PROXIES }), await startAsOverIPv6({ TRUSTED_PROXIES })];
      for (const server of servers) {
        if (server) assert.equal(await callerOf(server, '203.0.113.7'), caller);
        await server?.close();
      }
    }
  });
});

/** Undefined on a machine without IPv6. */
async function startOverIPv6(env: Record<string, string>): Promise<TestServer | undefined> {
  return startTestServer({ HOST: '::1', ...env }).catch((error) => {
    if (!/EADDRNOTAVAIL|EAFNOSUPPORT/.test(String(error))) throw error;
    console.log(
      'There is no IPv6 on this machine: trusted proxies are shown by connections that only seem to come over it.',
    );
    return undefined;
  });
}

/** A server whose connections say of themselves that their other end is `::1`. */
async function startAsOverIPv6(env: Record<string, string>): Promise<TestServer> {
  const server = await startTestServer(env);
  const port = Number(new URL(server.baseUrl).port);
  const rename = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket }; // as Node.js documents the channel
    if (socket.localPort === port) Object.defineProperty(socket, 'remoteAddress', { value: '::1' });
  };
  subscribe(CONNECTIONS, rename);
  const close = async () => {
    unsubscribe(CONNECTIONS, rename);
    await server.close();
  };
  return { ...server, close };
}

const CONNECTIONS = 'net.server.socket';

it('refused requests are counted under the caller behind the proxy', async () => {
  const server = await startTestServer({ TRUSTED_PROXIES: 'loopback' });
  for (const key of [undefined, 'ak_nonsense']) {
    await rest(server, 'GET', '/api/v1/agents', { key, headers: { [FORWARDED]: '203.0.113.7' } });
  }
  await rest(server, 'GET', '/api/v1/agents', { headers: { [FORWARDED]: '203.0.113.8' } });
  await fetch(`${server.baseUrl}/sign-in`, { method: 'POST', headers: { [FORWARDED]: '203.0.113.9' } });
  await server.stop();
  const { records } = await server.store.audit.find({ tool: 'authenticate', limit: 10 });
  const counts = records.map((entry) => [entry.principal.id, entry.arguments.attempts]);
  assert.deepEqual(counts.sort(), [
    ['203.0.113.7', 2],
    ['203.0.113.8', 1],
    ['203.0.113.9', 1],
  ]);
});

describe('TRUSTED_PROXIES', () => {
  it('shows that others than this machine come, so that integrations are held to what is out there', () => {
    const both = (env: Record<string, string>) => {
      const { stdioIntegrations, privateUpstreams } = readConfig(env);
      return [stdioIntegrations, privateUpstreams];
    };
    assert.deepEqual(both({}), [true, true]);
    assert.deepEqual(both({ TRUSTED_PROXIES: 'loopback' }), [false, false]);
    assert.deepEqual(both({ TRUSTED_PROXIES: 'loopback', STDIO_INTEGRATIONS: 'on' }), [true, false]);
  });

  it('takes addresses, networks and loopback, and refuses all else', () => {
    assert.deepEqual(readConfig({}).trustedProxies, []);
    const list = 'loopback, 192.0.2.1 ,10.0.0.0/8,::1,fd00::/8';
    assert.deepEqual(
      readConfig({ TRUSTED_PROXIES: list }).trustedProxies,
      list.split(',').map((part) => part.trim()),
    );
    for (const wrong of [
      ...['true', '1', '*', '0.0.0.0/0', '::/0', '10.0.0.0/33', '10.0.0.0/', '10/8', 'fd00::/129'],
      ...['a.example', '10.0.0.0/255.0.0.0', '10.0.0.1 10.0.0.2', 'fe80::1%eth0'],
    ]) {
      assert.throws(() => readConfig({ TRUSTED_PROXIES: `loopback, ${wrong}` }), /TRUSTED_PROXIES/, wrong);
    }
  });
});
