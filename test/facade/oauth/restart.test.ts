import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { stoppedAtEnd } from '../../support/at-end.ts';
import { rest } from '../../support/calls.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { type ServerProcess, startProcess, withFolder } from '../../support/child.ts';
import { freePort } from '../../support/free-port.ts';
import { CALLBACK, OAuthClient } from '../../support/oauth.ts';

const adminKey = `ak_boot0000_${'x'.repeat(40)}`;
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const tls = makeCertificate();

const documents = new Map<string, object>();
const answer: RequestListener = (request, response) => {
  const found = documents.get(request.url ?? '');
  response.writeHead(found ? 200 : 404, { 'Content-Type': 'application/json' }).end(JSON.stringify(found ?? {}));
};
const host = stoppedAtEnd(createServer(tls, answer));
before(() => new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve)));

const at = (path: string) => `https://127.0.0.1:${(host.address() as AddressInfo).port}${path}`;

function publish(path: string, more: object = {}): string {
  const id = at(path);
  documents.set(path, { client_id: id, client_name: 'Published', redirect_uris: [CALLBACK], ...more });
  return id;
}

it('a restart keeps connections, also of clients whose host is away then', async () => {
  await withFolder(async (folder) => {
    await writeFile(join(folder, 'host.pem'), tls.cert);
    const env = {
      PORT: String(await freePort()),
      BOOTSTRAP_API_KEY: adminKey,
      PRIVATE_UPSTREAMS: 'on',
      NODE_EXTRA_CA_CERTS: join(folder, 'host.pem'),
    };
    const first = await startProcess(join(folder, 'data'), env);
    assert.match(first.stdout, /Hosted ones \(Claude, ChatGPT\) cannot/);
    const server = { baseUrl: first.baseUrl, adminKey };
    const registered = await OAuthClient.registered(server);
    const published = new OAuthClient(server, publish('/client.json'));
    const clients = [registered, published];
    const tokens = [await registered.connected(), await published.connected()];
    const pending = await registered.code();
    await signsWithKey(server);
    await first.stop('SIGKILL');
    documents.clear();
    host.closeAllConnections();
    await new Promise((resolve) => host.close(resolve));

    const second = await startProcess(join(folder, 'data'), env);
    assert.equal(second.baseUrl, first.baseUrl);
    for (const [index, client] of clients.entries()) {
      const { access_token, refresh_token } = tokens[index] ?? assert.fail();
      assert.equal(await statusOf(second, access_token), 200);
      const { status, body } = await client.refresh(refresh_token);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(await statusOf(second, body.access_token), 200);
    }
    assert.equal((await registered.redeem(pending)).status, 200);
    await second.stop('SIGTERM');
  });
});

async function statusOf(server: ServerProcess, key: string): Promise<number> {
  return (await rest(server, 'POST', '/api/v1/mcp', { key, body: LIST })).status;
}

/** A published client that proves itself by a key that it publishes too, as ChatGPT does. */
async function signsWithKey(server: { readonly baseUrl: string; readonly adminKey: string }): Promise<void> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  documents.set('/keys.json', { keys: [{ ...(await exportJWK(publicKey)), kid: '1', alg: 'ES256', use: 'sig' }] });
  const metadata = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: at('/keys.json') };
  const client = new OAuthClient(server, publish('/keyed.json', metadata));
  const assertion = (key = privateKey, audience = server.baseUrl) =>
    new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256', kid: '1' })
      .setIssuer(client.clientId)
      .setSubject(client.clientId)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key);
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const shown = (client_assertion: string) => ({ client_assertion, client_assertion_type: type });

  const code = await client.code();
  const stranger = await generateKeyPair('ES256');
  for (const wrong of [
    {},
    shown(await assertion(stranger.privateKey)),
    shown(await assertion(privateKey, 'https://x.example')),
  ]) {
    const { status, body } = await client.redeem(code, wrong);
    assert.deepEqual([status, body.error], [401, 'invalid_client']);
  }
  const good = shown(await assertion());
  const { status, body } = await client.redeem(code, good);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal((await client.refresh(body.refresh_token, good)).status, 401); // an assertion counts once
  assert.equal((await client.refresh(body.refresh_token, shown(await assertion()))).status, 200);
}
