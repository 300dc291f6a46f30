import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { APP_SCOPES } from '../../resources/connected-app.ts';
import { agreeing } from '../../tools/apps/authorize-app.ts';
import { catalog } from '../../tools/catalog.ts';
import { appPrincipal, canBeInApp, missingScopes } from '../../tools/core/access/app-principal.ts';
import { capsulePrincipal } from '../../tools/core/access/capsule-principal.ts';
import { isListed } from '../../tools/core/access/guarded-tool.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { personPrincipal } from '../../tools/core/access/principal.ts';
import { seesTool } from '../../tools/core/access/reach.ts';
import { grantRights, intersectRights, scopeRights } from '../../tools/core/access/rights.ts';
import { holderOf } from '../../tools/integrations/accounts/account-holder.ts';
import { inputFor } from '../contract/inputs.ts';
import { pluck } from '../support/pluck.ts';
import { fc } from '../support/property.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';
import { writing } from '../support/writing.ts';

const UNIFIED = 'https://example.com/api/v1/mcp';
const CLIENT = { name: 'Claude', host: 'claude.ai', verified: true };
const admin = principalOf({ type: 'api-key', id: 'key_admin', scopes: ['admin'] });

const world = await openTestRegistry();
const person = async (email: string) => {
  const user = await writing(world.store).adminUsers.insert({ email, role: 'x', isActive: true });
  const later = '2100-01-01T00:00:00.000Z';
  return { ...personPrincipal(user), sessionId: `ses_${email}`, freshUntil: later, expiresAt: later };
};
const [ada, bob] = [await person('ada@example.com'), await person('bob@example.com')];

/** The same person with less: what they have is theirs, and nothing else. */
const limited = (person: Principal): Principal => {
  const { isPerson: _, ...rights } = scopeRights(['agents:read']);
  return { ...person, scopes: ['agents:read'], rights: { ...rights, isPerson: true, fingerprint: 'limited' } };
};

const { must, codeOf } = world;
const ASKED = { interaction: 'one', clientId: 'https://claude.ai/me', client: CLIENT, resource: UNIFIED };

async function authorize(caller: Principal, given: object): Promise<string> {
  const asked = { ...ASKED, decision: 'allow', ...given };
  return (await must(caller, 'authorize_app', asked, 'rest')).id;
}

async function appWith(id: string): Promise<Principal> {
  const app = await world.store.connectedApps.get(id);
  assert.ok(app);
  const found = await appPrincipal(world.store, app, { catalog, now: new Date() });
  assert.ok(typeof found !== 'string', String(found));
  return found;
}

describe('list_connected_apps and disconnect_app', () => {
  it('show and end all for administrators, and for anybody else who is signed in their own', async () => {
    const [own, other] = [await authorize(ada, { scopes: ['read'] }), await authorize(bob, { scopes: ['read'] })];
    const listed = async (caller: Principal, input: object = {}) =>
      pluck((await must(caller, 'list_connected_apps', input)).data, 'id').sort();
    assert.deepEqual(await listed(ada), [own, other].sort());
    assert.deepEqual(await listed(admin, { userId: bob.id }), [other]);
    assert.deepEqual(await listed(limited(ada)), [own]);
    assert.deepEqual(await listed(limited(ada), { userId: bob.id }), []);
    assert.equal(
      await codeOf(principalOf({ type: 'api-key', id: 'k', scopes: ['write'] }), 'list_connected_apps'),
      'forbidden',
    );
    assert.equal(await codeOf(limited(ada), 'disconnect_app', { id: other }), 'not_found');
    const [shown] = (await must(limited(ada), 'list_connected_apps')).data;
    assert.deepEqual(shown, {
      id: own,
      client: CLIENT,
      resource: UNIFIED,
      scopes: ['read'],
      userId: ada.id,
      createdAt: shown.createdAt,
      revision: 1,
    });
    const { connection, ended } = await must(limited(ada), 'disconnect_app', { id: own });
    assert.deepEqual([connection, ended], [shown, true]);
    await must(admin, 'disconnect_app', { id: other });
    assert.deepEqual(await listed(ada), []);
  });

  it('wait for a person where they are to ask first, from the next call on, also when they are connected again', async () => {
    const [own, other] = [await authorize(ada, { scopes: ['write'] }), await authorize(bob, { scopes: ['write'] })];
    const asks = (id: string, askFirst: string[], caller: Principal = limited(ada)) =>
      codeOf(caller, 'update_connected_app', { id, askFirst });
    assert.equal(await asks(other, ['delete_*']), 'not_found');
    assert.deepEqual(
      (await must(limited(ada), 'update_connected_app', { id: own, askFirst: ['create_*', 'create_*'] })).askFirst,
      ['create_*'],
    );
    const mistyped = await must(limited(ada), 'update_connected_app', {
      id: own,
      askFirst: ['create_*', 'delte_skill'],
    });
    assert.match(mistyped.warnings.join(), /^askFirst: "delte_skill" matches no tool now; similar names: delete_skill/);
    await must(limited(ada), 'update_connected_app', { id: own, askFirst: ['create_*', 'delete_skill'] });
    const writes = async (id: string) => codeOf(await appWith(id), 'create_skill', { name: `made ${id}` });
    assert.deepEqual([await writes(own), await writes(other)], ['approval_required', 'ok']);
    const again = await authorize(ada, { scopes: ['write'] });
    assert.equal(await writes(again), 'approval_required');
    assert.equal(await asks(own, [], await appWith(own)), 'forbidden');
    assert.equal(await asks(own, []), 'ok');
    assert.equal(await writes(own), 'ok');
    for (const id of [own, other, again]) await must(admin, 'disconnect_app', { id });
  });

  it('are listed for whoever is signed in, whatever the rights', () => {
    const names = (caller: Principal) => world.registry.list(caller).map(({ tool }) => tool.name);
    assert.ok(names(limited(ada)).includes('disconnect_app'));
    assert.ok(!names({ ...limited(ada), rights: scopeRights(['agents:read']) }).includes('disconnect_app'));
  });
});

describe('OAuth clients', () => {
  it('are made by administrators, with a secret shown once and kept as a hash', async () => {
    const redirectUris = ['https://example.com/back', 'http://127.0.0.1/back', 'com.example.app:/back'];
    const made = await must(ada, 'create_oauth_client', { name: 'Portal', redirectUris, confidential: true });
    assert.match(made.secret, /^ocs_/);
    const record = await world.store.oauthClients.get(made.id);
    assert.ok(record?.secretHash && !JSON.stringify(record).includes(made.secret));
    const { secret: _, ...shown } = made;
    assert.deepEqual((await must(admin, 'list_oauth_clients', { kind: 'made' })).data, [shown]);
    const open = await must(ada, 'create_oauth_client', { name: 'Desk', redirectUris, confidential: false });
    assert.equal(open.secret, undefined);
  });

  it('end their connections when they are deleted', async () => {
    const input = { name: 'Gone', redirectUris: ['https://example.com/back'], confidential: false };
    const { id, clientId } = await must(ada, 'create_oauth_client', input);
    const app = await authorize(ada, { clientId, scopes: ['read'] });
    const kept = await authorize(ada, { scopes: ['read'] });
    await must(admin, 'delete_oauth_client', { id });
    assert.equal(await world.store.connectedApps.get(app), undefined);
    assert.ok(await world.store.connectedApps.get(kept));
    assert.equal(await codeOf(admin, 'delete_oauth_client', { id }), 'not_found');
  });

  for (const uri of [
    'javascript:alert(1)',
    'data:text/html,x',
    'http://example.com/back',
    'https://user:pw@example.com/back',
    'https://example.com/back#part',
    'ms-settings:x',
    'https://localhost/back',
    '/back',
  ]) {
    it(`are sent to no address like ${uri}`, async () => {
      const input = { name: 'Bad', redirectUris: [uri], confidential: false };
      const answer = await world.call(ada, 'create_oauth_client', input);
      assert.ok('error' in answer && answer.error.code === 'invalid_input');
      assert.deepEqual(
        answer.error.issues?.map(({ path }) => path),
        ['redirectUris[0]'],
      );
    });
  }
});

describe('authorize_app', () => {
  it('is for people and holders of a capsule token alone, and for no door but the consent page', async () => {
    const asked = { ...ASKED, decision: 'allow', scopes: ['read'] };
    assert.equal(await world.codeOf(admin, 'authorize_app', asked, 'rest'), 'forbidden');
    assert.equal(await world.codeOf(ada, 'authorize_app', asked), 'not_found');
  });

  it('hands out no more than the person has', async () => {
    const asked = { ...ASKED, decision: 'allow', scopes: ['read', 'write', 'admin'] };
    const { id } = await must({ ...admin, ownerId: ada.id }, 'create_capsule', { name: 'Of Ada', status: 'live' });
    for (const input of [
      asked,
      { ...asked, scopes: [], capsuleId: id },
      { ...asked, scopes: [], capsuleId: 'cap_none' },
    ]) {
      assert.equal(await world.codeOf(limited(ada), 'authorize_app', input, 'rest'), 'forbidden');
    }
  });

  it('ends with the e-mail of its person', async () => {
    const id = await authorize(bob, { scopes: ['read'] });
    const owner = await writing(world.store).adminUsers.insert({
      email: 'owner@example.com',
      role: 'owner',
      isActive: true,
    });
    await must({ ...admin, ownerId: owner.id }, 'update_admin_user', { id: bob.id, name: 'Bob' });
    assert.ok(await world.store.connectedApps.get(id));
    await must({ ...admin, ownerId: owner.id }, 'update_admin_user', { id: bob.id, email: 'b@example.com' });
    assert.equal(await world.store.connectedApps.get(id), undefined);
  });
});

describe('a connected app', () => {
  it('is audited as itself on behalf of its person', async () => {
    const app = await appWith(await authorize(ada, { scopes: ['read'] }));
    await must(app, 'list_skills');
    await world.store.audit.flush();
    const { records } = await world.store.audit.find({ principal: app.id, limit: 1 });
    assert.deepEqual(records[0]?.principal, { type: 'app', id: app.id, name: 'Claude (claude.ai)' });
    assert.deepEqual(records[0]?.onBehalfOf, [{ type: 'session', id: ada.id, name: 'ada@example.com' }]);
    const entries = await world.store.audit.find({ tool: 'authorize_app', principal: ada.id, limit: 1 });
    assert.deepEqual(entries.records[0]?.arguments.client, CLIENT);
    assert.ok(entries.records[0]?.recordIds?.includes(app.id));
  });

  it('manages nothing that acts with rights of its own, by whatever tool and with whatever it was given', async () => {
    const owner = { ...admin, ownerId: ada.id };
    const { id } = await must(owner, 'create_capsule', { name: 'Kept', allowedTools: [] });
    const app = await appWith(await authorize(ada, { scopes: ['read', 'write', 'admin'] }));
    assert.equal(await codeOf(app, 'purge_record', { entityType: 'capsule', id }), 'forbidden');
    assert.ok(await world.store.capsules.get(id));
    const { data, facets } = await must(app, 'search', { q: 'Kept ada@example.com' });
    assert.deepEqual([data, facets], [[], {}]);
    for (const tool of catalog.entries.map((entry) => entry.tool)) {
      const access = 'among' in tool.access ? tool.access.among : [tool.access];
      const needs = access.flatMap(({ grant }) => grant).map((text) => text.split(':'));
      for (const [resource = '', op = ''] of needs) {
        if (!/^(key|capsule|session|admin-user|integration|app|oauth-client)$/.test(resource)) continue;
        const limit = app.rights.limitedTo(resource, op);
        assert.equal(app.rights.allows({ scope: 'admin', needs: [{ resource, op }] }), false, `${resource}:${op}`);
        assert.deepEqual(limit?.names, [], `${resource}:${op}`);
      }
    }
  });

  it('sees the threads of its person that it may read, and makes threads that are theirs', async () => {
    const messages = [{ role: 'user', content: 'x' }];
    const { id } = await must(ada, 'create_thread', { title: 'secret', messages });
    await must(ada, 'update_thread_access', { id, visibility: 'restricted' });
    const [own, others] = [await authorize(ada, { scopes: ['read'] }), await authorize(bob, { scopes: ['read'] })];
    assert.equal(await codeOf(await appWith(own), 'get_thread', { id }), 'ok');
    assert.equal(await codeOf(await appWith(others), 'get_thread', { id }), 'not_found');
    const writing = await appWith(await authorize(ada, { scopes: ['read', 'write'] }));
    const made = await must(writing, 'create_thread', { title: 'mine', messages });
    assert.equal(made.createdBy, ada.id);
  });

  it('of a capsule sees the restricted threads that the capsule sees, and its person too', async () => {
    const owner = { ...admin, ownerId: ada.id };
    const input = { name: 'Reads', allowedTools: ['get_thread', 'list_threads', 'create_thread'], status: 'live' };
    const capsule = await must(owner, 'create_capsule', input);
    const { id } = await must(ada, 'create_thread', { title: 'shared', messages: [{ role: 'user', content: 'x' }] });
    const principal = { type: 'capsule', id: capsule.id };
    await must(ada, 'add_thread_access', { id, entries: [{ principal, role: 'viewer' }] });
    await must(ada, 'update_thread_access', { id, visibility: 'restricted' });
    const resource = `https://example.com/api/capsules/${capsule.id}/mcp`;
    const access = { scopes: ['read', 'write'], grants: [`capsule:use:${capsule.id}`, 'thread'] };
    const user = await writing(world.store).adminUsers.insert({
      email: 'eve@example.com',
      role: 'x',
      isActive: true,
      access,
    });
    const eve = { ...personPrincipal(user), sessionId: 'ses_eve', expiresAt: '2100-01-01T00:00:00.000Z' };
    const found = await world.store.capsules.get(capsule.id);
    assert.ok(found);
    const bearer = agreeing(capsulePrincipal(found, catalog, undefined));
    const given = { capsuleId: capsule.id, resource };
    const byToken = await appWith(await authorize(bearer, { ...given, tokenPrefix: capsule.tokenPrefix }));
    const byAda = await appWith(await authorize(ada, given));
    const byEve = await appWith(await authorize(eve, given));
    const codes = [byToken, byAda, byEve].map((app) => codeOf(app, 'get_thread', { id }));
    assert.deepEqual(await Promise.all(codes), ['ok', 'ok', 'not_found']);
    const makers = [byToken, byAda, byEve].map((app) => must(app, 'create_thread', { title: 'made' }));
    const made = (await Promise.all(makers)).map(({ createdBy }) => createdBy);
    assert.deepEqual(made, [capsule.id, capsule.id, eve.id]);
  });

  it('of a capsule uses no accounts of somebody else: its person is the owner of one that uses accounts', async () => {
    const input = { name: 'Accounts', allowedTools: ['list_agents'], status: 'live' };
    const { id } = await must({ ...admin, ownerId: ada.id }, 'create_capsule', input);
    const [ofAda, ofBob] = [await authorize(ada, { capsuleId: id }), await authorize(bob, { capsuleId: id })];
    await appWith(ofBob);
    await must({ ...admin, ownerId: ada.id }, 'update_capsule', { id, integrationAccounts: 'owner' });
    assert.equal(holderOf(await appWith(ofAda)), ada.id);
    const app = await world.store.connectedApps.read(ofBob);
    const found = await appPrincipal(world.store, app, { catalog, now: new Date() });
    assert.match(String(found), /may no longer use its capsule/);
    const asked = { ...ASKED, decision: 'allow', capsuleId: id };
    assert.equal(await world.codeOf(bob, 'authorize_app', asked, 'rest'), 'forbidden');
  });

  it('makes flows whose runs act as the app and end with it', async () => {
    const id = await authorize(ada, { scopes: ['read', 'write'] });
    const app = await appWith(id);
    const flow = await must(app, 'create_flow', { name: 'of an app', steps: [{ id: 'a', tool: 'list_skills' }] });
    assert.deepEqual(flow.runAs, { type: 'app', id, name: app.name });
    const steps = [{ id: 'a', tool: 'update_settings', arguments: { workspaceName: 'x' } }];
    assert.equal(await codeOf(app, 'create_flow', { name: 'beyond', steps }), 'forbidden');
  });

  it('is told all that is missing where its person may do more, and nothing where they may not', async () => {
    const asked = async (tool: string, scopes: readonly string[], person: Principal = ada) => {
      const app = await appWith(await authorize(ada, { scopes }));
      const found = catalog.get(tool)?.tool;
      assert.ok(found);
      return missingScopes({ ...app, actsFor: person }, found, inputFor(tool));
    };
    assert.deepEqual(await asked('create_agent', ['read']), ['read', 'write']);
    assert.deepEqual(await asked('update_settings', ['read']), ['read', 'write', 'admin']);
    assert.equal(await asked('list_agents', ['read']), undefined);
    assert.equal(await asked('create_api_key', ['read']), undefined);
    assert.equal(await asked('create_agent', ['read'], limited(ada)), undefined);
    const app = await appWith(await authorize(ada, { scopes: ['read'] }));
    const call = { principal: app, door: 'mcp', requestId: 'test' } as const;
    const refused = await world.registry.call({ ...call, tool: 'create_agent', input: inputFor('create_agent') });
    assert.deepEqual(!refused.ok && refused.missingScopes, ['read', 'write']);
    const inner = { name: 'create_agent', arguments: inputFor('create_agent') };
    const through = await world.registry.call({ ...call, tool: 'call_tool', input: inner });
    assert.deepEqual(!through.ok && through.missingScopes, ['read', 'write']);
  });

  it('is told of no scopes at the endpoint of a capsule, where none would ever be enough', async () => {
    const owner = { ...admin, ownerId: ada.id };
    const input = { name: 'Narrow', allowedTools: ['list_agents'], status: 'live' };
    const { id } = await must(owner, 'create_capsule', input);
    const tool = catalog.get('create_agent')?.tool ?? assert.fail();
    const asked = async (resource: string) =>
      missingScopes(await appWith(await authorize(ada, { capsuleId: id, resource })), tool, inputFor(tool.name));
    assert.equal(await asked(`https://example.com/api/capsules/${id}/mcp`), undefined);
    assert.deepEqual(await asked(UNIFIED), ['read', 'write'], 'elsewhere its person can hand out scopes instead');
  });

  it('reaches, whatever its person may do and whatever was handed out, what both allow and never more', () => {
    const tools = catalog.entries.map(({ tool }) => tool).filter((tool) => isListed(tool));
    const grants = fc
      .constantFrom('agent:read', 'agent', 'skill:write', 'thread:read', 'flow', 'key', 'settings:read', '*')
      .map((text) => {
        const [resource = '*', op = '*'] = text.split(':');
        return { resource, op, id: '*' };
      });
    const own = fc.oneof(
      fc.uniqueArray(fc.constantFrom('read', 'write', 'admin', 'agents:read', 'skills:write')).map(scopeRights),
      fc.uniqueArray(grants, { selector: (grant) => JSON.stringify(grant) }).map((list) => grantRights(list)),
    );
    fc.assert(
      fc.property(own, fc.integer({ min: 1, max: 3 }), (rights, count) => {
        const handed = scopeRights(APP_SCOPES.slice(0, count));
        const both = handed.isAdmin ? intersectRights(rights, handed) : intersectRights(handed, rights);
        const limit = { holder: 'app', fingerprint: 'app', allows: canBeInApp };
        assert.equal(both.isAdmin, handed.isAdmin && rights.isAdmin);
        for (const tool of tools) {
          const reached = seesTool({ rights: both, tools: limit }, tool);
          if (reached) assert.ok(seesTool({ rights }, tool) && seesTool({ rights: handed }, tool), tool.name);
          if (reached) assert.ok(!tool.answersSecret && !/^(create|list)_(api_key|capsule|session)/.test(tool.name));
        }
      }),
    );
  });
});
