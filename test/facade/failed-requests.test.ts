import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SETTINGS_ID } from '../../resources/settings.ts';
import { StoreUnavailable } from '../../store/errors.ts';
import { send } from '../support/http.ts';
import { loseTransaction } from '../support/lost-answer.ts';
import { OAuthClient } from '../support/oauth.ts';
import { serverForTests } from '../support/server.ts';
import { writing } from '../support/writing.ts';

const server = serverForTests();

describe('the log', () => {
  it('names the request of a token that could not be issued', async () => {
    const client = await OAuthClient.registered(server);
    const code = await client.code();
    loseTransaction(server.store, ({ collection }) => collection === 'oauthStates');
    const { status, headers } = await client.redeem(code);
    assert.equal(status, 500);
    const [line, ...more] = server.log.filter(({ level }) => level === 'error' || level === 50);
    assert.deepEqual([line?.msg, line?.requestId, more], ['request failed', headers.get('X-Request-Id'), []]);
  });

  it('does not call it uncaught that the store is away while a page is made, which is answered with 503', async (test) => {
    const { settings } = server.store;
    test.mock.method(settings, 'get', async () => {
      throw new StoreUnavailable('away');
    });
    const headers = { 'X-Request-Id': 'away' };
    const { status, text } = await send(`${server.baseUrl}/sign-in`, { method: 'GET', headers });
    assert.deepEqual([status, JSON.parse(text).code], [503, 'unavailable']);
    assert.deepEqual(
      server.log.filter(({ msg }) => msg === 'uncaught error'),
      [],
    );
  });

  it('names the request of a page that could not even be made, which is answered with 500', async () => {
    await writing(server.store).settings.delete(SETTINGS_ID);
    const headers = { 'X-Request-Id': 'no-page' };
    const { status, text } = await send(`${server.baseUrl}/sign-in`, { method: 'GET', headers });
    assert.deepEqual([status, JSON.parse(text).requestId], [500, 'no-page']);
    const line = server.log.find(({ requestId, err }) => requestId === 'no-page' && err !== undefined);
    assert.equal(line?.msg, 'uncaught error');
  });
});
