import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rest } from '../../support/calls.ts';
import { send } from '../../support/http.ts';
import { answerOf, OAuthClient } from '../../support/oauth.ts';
import { serverForTests } from '../../support/server.ts';

const server = serverForTests();
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

describe('connecting by signing in', () => {
  it('leads from the address alone to a call', async () => {
    const refused = await rest(server, 'POST', '/api/v1/mcp', { body: LIST });
    assert.equal(refused.status, 401);
    const challenge = refused.headers.get('www-authenticate') ?? '';
    assert.match(challenge, /^Bearer resource_metadata="[^"]+", scope="read"$/);
    const { body: metadata } = answerOf(await send(/resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? ''));
    assert.equal(metadata.resource, `${server.baseUrl}/api/v1/mcp`);
    assert.deepEqual(metadata.authorization_servers, [server.baseUrl]);

    const client = await OAuthClient.registered(server);
    const tokens = await client.connected();
    assert.equal(tokens.scope, 'read');
    assert.equal(tokens.expires_in, 900);
    const { status, body } = await rest(server, 'POST', '/api/v1/mcp', { key: tokens.access_token, body: LIST });
    assert.equal(status, 200);
    assert.ok(body.result.tools.length > 10);
  });
});
