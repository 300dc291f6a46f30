import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { PersonAccess } from '../../resources/admin-user.ts';
import { catalog } from '../../tools/catalog.ts';
import { callsOf } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { writing } from '../support/writing.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);

let made = 0;
async function person() {
  made += 1;
  const email = `own-${made}@example.com`;
  const { id } = await must('create_admin_user', { email });
  return { id, email, session: await signIn(server, email) };
}
type Person = Awaited<ReturnType<typeof person>>;

/** One kind of thing that belongs to a person: how it comes to be, is listed and is ended. */
interface Own {
  make(person: Person): Promise<string>;
  readonly list: string;
  /** The member of a listed record by which it is known again. */
  readonly by?: string;
  readonly end: string;
  input(id: string): object;
  /** Lists only those that have not ended. */
  readonly which?: object;
}

const own: Readonly<Record<string, Own>> = {
  key: {
    make: async ({ session }) => (await must('create_api_key', { name: 'k', scopes: ['read'] }, session)).id,
    list: 'list_api_keys',
    end: 'revoke_api_key',
    which: { state: 'active' },
    input: (id) => ({ id }),
  },
  capsule: {
    make: async ({ session }) => (await must('create_capsule', { name: 'c' }, session)).id,
    list: 'list_capsules',
    end: 'delete_capsule',
    input: (id) => ({ id }),
  },
  session: {
    async make({ id, email }) {
      await signIn(server, email); // the other one, with which the caller goes on
      const { records } = await server.store.sessions.find({ where: { userId: id }, limit: 1 });
      return records[0]?.id ?? assert.fail('a session');
    },
    list: 'list_sessions',
    end: 'end_session',
    input: (id) => ({ id }),
  },
  'connected app': {
    async make({ id: userId }) {
      const client = { name: 'Client', host: 'client.example.com', verified: true } as const;
      const app = {
        clientId: 'https://client.example.com/id',
        client,
        resource: server.baseUrl,
        scopes: ['read' as const],
      };
      return (await writing(server.store).connectedApps.insert({ ...app, userId })).id;
    },
    list: 'list_connected_apps',
    end: 'disconnect_app',
    input: (id) => ({ id }),
  },
  passkey: {
    async make({ id: userId }) {
      const key = { name: 'Phone', publicKey: 'b', counter: 1, transports: ['hybrid'], isSynced: true };
      const lastUsedAt = '2026-01-01T00:00:00.000Z';
      const passkey = { ...key, credentialId: `of ${userId}`, lastUsedAt, userId };
      return (await writing(server.store).passkeys.insert(passkey)).id;
    },
    list: 'list_passkeys',
    end: 'delete_passkey',
    input: (id) => ({ id }),
  },
  'account at an integration': {
    async make({ id: userId }) {
      const auth = { transport: 'http', url: 'http://127.0.0.1:9/', auth: 'oauth-per-person', enabled: false };
      const { id: integrationId } = await must('create_integration', { name: `Of ${userId}`, ...auth });
      const account = { integrationId, userId, key: `${integrationId} ${userId}`, scopes: [], sealed: '' };
      const connected = { status: 'connected' as const, connectedAt: new Date().toISOString() };
      await writing(server.store).integrationAccounts.insert({ ...account, ...connected });
      return integrationId;
    },
    list: 'list_integration_accounts',
    by: 'integrationId',
    end: 'disconnect_integration',
    input: (id) => ({ id }),
  },
};

const limits: Readonly<Record<string, PersonAccess>> = {
  'agent:invoke': { scopes: [], grants: ['agent:invoke'] },
  'one agent to invoke': { scopes: [], grants: ['agent:invoke:agt_none'] },
  'a scope for something else': { scopes: ['documents:read'] },
  'the records of another': {
    scopes: [],
    grants: ['key', 'capsule', 'session', 'app', 'passkey', 'integration'].map((kind) => `${kind}:*:one_none`),
  },
};

const listed = async ({ list, by = 'id', which }: Own, { session }: Person): Promise<string[]> =>
  (await must(list, { limit: 100, ...which }, session)).data.map((record: Record<string, string>) => record[by]);

/** Made before the person is limited: by kind, the ids. */
async function allOf(holder: Person): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const [what, kind] of Object.entries(own)) ids.set(what, await kind.make(holder));
  return ids;
}

describe('what is one’s own', () => {
  let bob: Person;
  let ofBob: Map<string, string>;
  before(async () => {
    bob = await person();
    ofBob = await allOf(bob);
  });

  for (const [limit, access] of Object.entries(limits)) {
    describe(`of a person limited to ${limit}`, () => {
      let ada: Person;
      let ofAda: Map<string, string>;
      before(async () => {
        ada = await person();
        ofAda = await allOf(ada);
        await must('update_admin_user', { id: ada.id, access });
      });

      for (const [what, kind] of Object.entries(own)) {
        it(`is listed and ended, and no more: ${what}`, async () => {
          const [mine = '', theirs = ''] = [ofAda.get(what), ofBob.get(what)];
          const shown = await listed(kind, ada);
          assert.ok(shown.includes(mine) && !shown.includes(theirs), JSON.stringify(shown));
          const { code } = await refused(kind.end, kind.input(theirs), ada.session);
          assert.ok(['not_found', 'forbidden'].includes(code), code);
          await must(kind.end, kind.input(mine), ada.session);
          assert.ok(!(await listed(kind, ada)).includes(mine));
          assert.ok((await listed(kind, bob)).includes(theirs), 'what belongs to another is still there');
        });
      }
    });
  }

  it('has new secrets made by a person limited to agent:invoke', async () => {
    const { id, session } = await person();
    const key = await must('create_api_key', { name: 'k', scopes: ['read'] }, session);
    await must('update_admin_user', { id, access: { scopes: [], grants: ['agent:invoke'] } });
    assert.ok((await must('rotate_api_key', { id: key.id }, session)).secret);
  });

  it('is ended by tools of this table: every other tool for one’s own makes or shows something', () => {
    const named = new Set(Object.values(own).flatMap(({ list, end }) => [list, end]));
    const others = catalog.entries.map(({ tool }) => tool).filter((tool) => tool.own && !named.has(tool.name));
    assert.deepEqual(others.map(({ name }) => name).sort(), [
      'create_api_key',
      'create_passkey',
      'get_capsule',
      'list_approvals',
      'list_budgets',
      'rename_passkey',
      'rotate_api_key',
      'update_connected_app',
    ]);
  });
});

describe('an account at an integration', () => {
  it('is ended by keys of its person that may write, and shown to those that may read', async () => {
    const ada = await person();
    const integrationId = await own['account at an integration']?.make(ada);
    const key = async (rights: object) =>
      (await must('create_api_key', { name: 'k', scopes: [], ...rights }, ada.session)).secret;
    const end = (secret: string) => refused('disconnect_integration', { id: integrationId }, secret);
    const reader = await key({ scopes: ['read'] });
    assert.deepEqual((await end(reader)).required, { scope: 'tools:write', grant: `tool:call:${integrationId}` });
    assert.equal((await end(await key({ scopes: ['tools:read'] }))).code, 'forbidden');
    assert.equal((await must('list_integration_accounts', {}, reader)).data.length, 1);
    await must('disconnect_integration', { id: integrationId }, await key({ scopes: ['tools:write'] }));
    assert.deepEqual((await must('list_integration_accounts', {}, reader)).data, []);
  });
});
