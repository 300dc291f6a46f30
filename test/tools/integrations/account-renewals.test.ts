import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Store } from '../../../store/port.ts';
import { openPostgresStore } from '../../../store/postgres/open.ts';
import { createSecretBox } from '../../../tools/core/sealing/secrets.ts';
import { type AccountSecrets, accountKey, sealAccount } from '../../../tools/integrations/accounts/account-secrets.ts';
import { AccountTokens } from '../../../tools/integrations/accounts/account-tokens.ts';
import { stoppedAtEnd } from '../../support/at-end.ts';
import { testDatabase, withoutPostgres } from '../../support/postgres.ts';
import { dataFolder, openStoreIn, removeFolder } from '../../support/store.ts';
import { until } from '../../support/until.ts';
import { writing } from '../../support/writing.ts';

const secrets = createSecretBox([Buffer.alloc(32, 3).toString('base64')], '');
const now = () => new Date();
/** Answers of the provider that wait to be given. */
const asked: ServerResponse[] = [];

const server = stoppedAtEnd(createServer((_, response) => void asked.push(response)));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const provider = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listening on TCP

beforeEach(() => asked.splice(0));

function sealed(key: string, token: string): string {
  const metadata = {
    issuer: provider,
    authorization_endpoint: `${provider}/authorize`,
    token_endpoint: `${provider}/token`,
    response_types_supported: ['code'],
  };
  const kept = {
    client: { information: { client_id: 'us' }, redirectUri: 'http://127.0.0.1/back' },
    tokens: { access_token: token, token_type: 'Bearer', refresh_token: `${token} refresh` },
    discovery: { authorizationServerUrl: provider, authorizationServerMetadata: metadata },
  };
  return sealAccount(secrets, key, kept as AccountSecrets); // as the client would have found it
}

async function connected(store: Store, integrationId: string) {
  const key = accountKey(integrationId, undefined);
  const account = { key, integrationId, status: 'connected' as const, scopes: [], sealed: sealed(key, 'first') };
  const { id } = await writing(store).integrationAccounts.insert({ ...account, connectedAt: now().toISOString() });
  return { id, key };
}

function answer(token: string): void {
  const response = asked.shift() ?? assert.fail('Nobody asks the provider.');
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', refresh_token: `${token} refresh` }));
}

describe('a renewal that comes late', () => {
  let folder = '';
  let store: Store;
  before(async () => {
    folder = await dataFolder();
    store = await openStoreIn(folder, { now });
  });
  after(async () => {
    await store.close();
    await removeFolder(folder);
  });

  it('leaves an account alone that was connected anew, and uses its token', async () => {
    const { id, key } = await connected(store, 'int_late');
    const tokens = new AccountTokens({ store, secrets, privateAddresses: true, now });
    const renewal = tokens.renewed(key, 'first');
    await until(() => asked.length === 1);
    const anew = sealed(key, 'anew');
    await writing(store).integrationAccounts.update(id, { sealed: anew });
    answer('late');
    assert.equal(await renewal, 'anew');
    assert.equal((await store.integrationAccounts.get(id))?.sealed, anew);
  });

  it('leaves an account alone that was connected anew, where the provider refuses the old one', async () => {
    const { id, key } = await connected(store, 'int_refused');
    const tokens = new AccountTokens({ store, secrets, privateAddresses: true, now });
    const renewal = tokens.renewed(key, 'first').catch(() => 'refused');
    await until(() => asked.length === 1);
    await writing(store).integrationAccounts.update(id, { sealed: sealed(key, 'anew') });
    asked.shift()?.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error":"invalid_grant"}');
    assert.equal(await renewal, 'refused');
    assert.equal((await store.integrationAccounts.get(id))?.status, 'connected');
    assert.equal(await tokens.token(key), 'anew');
  });
});

describe('two processes that want the same token renewed', { skip: withoutPostgres }, () => {
  it('ask the provider once, as it takes a refresh token once', async () => {
    const { url, drop } = await testDatabase();
    const stores = await Promise.all([1, 2].map(() => openPostgresStore({ url, now, poolSize: 4 })));
    const [one, other] = stores.map((store) => new AccountTokens({ store, secrets, privateAddresses: true, now }));
    const [store] = stores;
    assert.ok(one && other && store);
    const { key } = await connected(store, 'int_shared');
    try {
      const first = one.renewed(key, 'first');
      await until(() => asked.length === 1);
      const turn = stores[1]?.cluster ?? assert.fail();
      const tried = countHolds(turn);
      const second = other.renewed(key, 'first');
      await until(() => tried() > 0 || asked.length > 1);
      assert.equal(asked.length, 1, 'the other process asks the provider beside the first');
      answer('second');
      assert.deepEqual([await first, await second], ['second', 'second']);
      assert.equal(asked.length, 0);
    } finally {
      for (const response of asked.splice(0)) response.destroy();
      for (const opened of stores) await opened.close();
      await drop();
    }
  });
});

/** How often the process has tried to take its turn. */
function countHolds(cluster: NonNullable<Store['cluster']>): () => number {
  let count = 0;
  const hold = cluster.hold.bind(cluster);
  cluster.hold = (...given) => {
    count += 1;
    return hold(...given);
  };
  return () => count;
}
