import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { capsuleClients } from '../support/capsules.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';
import { signIn, statusWith } from '../support/sign-in.ts';
import { writing } from '../support/writing.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);
const { call, ask } = capsuleClients(() => server);

let made = 0;
/** Somebody with one of each kind of thing that acts for them. */
async function leaver() {
  made += 1;
  const email = `leaves-${made}@example.com`;
  const { id } = await must('create_admin_user', { email });
  const session = await signIn(server, email);
  const key = await must('create_api_key', { name: 'script', scopes: ['read'] }, session);
  const tools = { allowedTools: ['list_skills', 'create_skill'] };
  const capsule = await must('create_capsule', { name: 'shared', status: 'live', ...tools }, session);
  const steps = [{ id: 'a', tool: 'list_skills', arguments: {} }];
  const flow = await must('create_flow', { name: 'nightly', steps }, session);
  const byKey = await must('create_api_key', { name: 'writer', scopes: ['admin'] }, session);
  const keyFlow = await must('create_flow', { name: 'by key', steps }, byKey.secret);
  const hook = { name: 'hook', target: { email: 'ops@example.com' }, alerts: ['flow.failed'] };
  const webhook = await must('create_webhook', hook, byKey.secret);
  const app = await writing(server.store).connectedApps.insert({
    clientId: 'https://client.example.com/id',
    client: { name: 'Client', host: 'client.example.com', verified: true },
    resource: `${server.baseUrl}/api/v1/mcp`,
    scopes: ['read'],
    userId: id,
  });
  return { id, email, session, key, byKey, capsule, flow, keyFlow, webhook, app };
}

type Held = { readonly type: string; readonly id: string; readonly reach: string; readonly lastUsedAt?: string };

describe('list_holdings', () => {
  it('shows what acts for a person, what each does and when it was last used', async () => {
    const { id, key, byKey, capsule, flow, keyFlow, webhook, app } = await leaver();
    await must('list_skills', {}, key.secret);
    const { data } = await must('list_holdings', { userId: id, limit: 100 });
    const shown = data.map(({ type, id, reach }: Held) => [type, id, reach]);
    assert.deepEqual(
      shown.sort(),
      [
        ['app', app.id, 'scopes read'],
        ['capsule', capsule.id, 'live; tools list_skills, create_skill'],
        ['flow', flow.id, 'enabled, manual; calls list_skills'],
        ['flow', keyFlow.id, 'enabled, manual; calls list_skills'],
        ['key', key.id, 'scopes read'],
        ['key', byKey.id, 'scopes admin'],
        ['webhook', webhook.id, 'enabled; tells ops@example.com of flow.failed'],
      ].sort(),
    );
    await must('trigger_flow', { id: flow.id, wait: true });
    await must('revoke_api_key', { id: key.id });
    const later: Held[] = (await must('list_holdings', { userId: id, limit: 100 })).data;
    assert.ok(!later.some((held) => held.id === key.id));
    assert.ok(later.find((held) => held.id === flow.id)?.lastUsedAt);
    assert.equal(later.find((held) => held.id === keyFlow.id)?.lastUsedAt, undefined);
  });

  it('is read in pages, newest first, each once', async () => {
    const { id } = await leaver();
    const all: Held[] = (await must('list_holdings', { userId: id, limit: 100 })).data;
    const paged: Held[] = [];
    let cursor: string | undefined;
    do {
      const page = await must('list_holdings', { userId: id, limit: 2, ...(cursor && { cursor }) });
      paged.push(...page.data);
      cursor = page.nextCursor ?? undefined;
    } while (cursor);
    assert.deepEqual(paged, all);
    assert.equal((await refused('list_holdings', { userId: 'usr_none' })).code, 'not_found');
  });

  it('leaves out what the caller may not read', async () => {
    const { id, capsule } = await leaver();
    const some = await makeKey(server, { grants: ['admin-user:read', `capsule:read:${capsule.id}`] });
    const { data } = await must('list_holdings', { userId: id }, some);
    assert.deepEqual(pluck(data, 'type'), ['capsule']);
  });
});

describe('take_over', () => {
  it('has a capsule go on for its clients when its person leaves', async () => {
    const { id, capsule } = await leaver();
    const taken = await must('take_over', { type: 'capsule', id: capsule.id, expectedRevision: 1, token: 'keep' });
    assert.equal(taken.secret, undefined);
    assert.match(taken.warnings[0], /anybody who knows it/);
    assert.equal(taken.capsule.createdBy, id);
    await must('deactivate_admin_user', { id });
    assert.ok((await call(capsule, 'list_skills')).data);
  });

  it('gives a capsule another token where that is asked for, and asks which', async () => {
    const { capsule } = await leaver();
    const wish = { type: 'capsule', id: capsule.id, expectedRevision: 1 };
    const missing = await refused('take_over', wish);
    assert.deepEqual([missing.code, missing.issues?.[0]?.path], ['invalid_input', 'token']);
    const { secret, warnings } = await must('take_over', { ...wish, token: 'rotate' });
    assert.deepEqual(warnings, []);
    assert.ok((await call({ id: capsule.id, token: secret }, 'list_skills')).data);
    assert.equal((await ask(capsule, 'tools/list')).status, 401);
    assert.equal((await refused('take_over', { ...wish, token: 'keep' })).code, 'conflict');
  });

  it('has a flow run with the rights of whoever took it, with its history', async () => {
    const { id, flow } = await leaver();
    const { ownerId } = (await must('list_api_keys', { limit: 1 })).data[0];
    assert.ok(ownerId);
    const taken = await must('take_over', { type: 'flow', id: flow.id, expectedRevision: 1 });
    assert.equal(taken.flow.runAs.type, 'api-key');
    await must('deactivate_admin_user', { id });
    const run = await must('trigger_flow', { id: flow.id, wait: true });
    assert.equal(run.status, 'succeeded');
    const { data } = await must('list_versions', { entityType: 'flow', entityId: flow.id });
    assert.deepEqual(pluck(data, 'revision'), [2, 1]);
  });

  it('gives a key a new secret always, and ends what was made with the old one', async () => {
    const { id, byKey } = await leaver();
    const other = await must('create_admin_user', { email: `other-${made}@example.com` });
    const session = await signIn({ ...server, adminKey: byKey.secret }, other.email);
    const taken = await must('take_over', { type: 'key', id: byKey.id, expectedRevision: 1 });
    assert.equal(await statusWith(server, byKey.secret), 401);
    assert.equal(await statusWith(server, session), 401);
    await must('deactivate_admin_user', { id });
    assert.equal(await statusWith(server, taken.secret), 200);
    assert.notEqual(taken.key.ownerId, id);
    await must('revoke_api_key', { id: byKey.id });
    const again = await refused('take_over', { type: 'key', id: byKey.id, expectedRevision: 3 });
    assert.equal(again.code, 'conflict');
  });

  it('frees no key from the expiring key that it ends with', async () => {
    const expiresAt = new Date(Date.now() + 600_000).toISOString();
    const [first, second] = [{ name: 'first' }, { name: 'second' }].map((named) => ({
      ...named,
      scopes: ['admin'],
      expiresAt,
    }));
    const parent = await must('create_api_key', first);
    const child = await must('create_api_key', second, parent.secret);
    const wish = { type: 'key', id: child.id, expectedRevision: 1 };
    const { secret } = await must('take_over', wish, child.secret);
    await must('revoke_api_key', { id: parent.id });
    assert.equal(await statusWith(server, secret), 401);
  });

  it('is refused to those who cannot do all it does, and at another revision', async () => {
    const { capsule, flow, byKey } = await leaver();
    const weak = await makeKey(server, { grants: ['capsule:write', 'flow:write', 'key:write', 'skill:read'] });
    for (const [type, id] of [
      ['capsule', capsule.id],
      ['key', byKey.id],
    ] as const) {
      const wish = { type, id, expectedRevision: 1, token: 'rotate' };
      assert.equal((await refused('take_over', wish, weak)).code, 'forbidden', type);
    }
    const blind = await makeKey(server, { grants: ['flow:write'] });
    const wish = { type: 'flow', id: flow.id, expectedRevision: 1 };
    assert.equal((await refused('take_over', wish, blind)).code, 'forbidden');
    assert.equal((await must('take_over', wish, weak)).flow.runAs.type, 'api-key');
    for (const [type, id] of [
      ['flow', flow.id],
      ['key', byKey.id],
    ] as const)
      assert.equal((await refused('take_over', { type, id, expectedRevision: 7 })).code, 'conflict');
  });
});

describe('get_current_principal', () => {
  it('tells a person, a key and a capsule who they are and what they may do', async () => {
    const { id, email, session, key, capsule } = await leaver();
    const person = await must('get_current_principal', {}, session);
    assert.deepEqual(
      [person.type, person.id, person.email, person.scopes, person.isAdmin],
      ['session', id, email, ['*'], true],
    );
    assert.ok(Date.parse(person.expiresAt) > Date.now());
    const script = await must('get_current_principal', {}, key.secret);
    assert.deepEqual(
      [script.type, script.id, script.name, script.scopes, script.isAdmin],
      ['api-key', key.id, 'script', ['read'], false],
    );
    await must('update_admin_user', { id, access: { scopes: [], grants: ['skill:read', 'agent:read'] } });
    assert.deepEqual((await must('get_current_principal', {}, key.secret)).limitedTo.grants, [
      'skill:read',
      'agent:read',
    ]);
    assert.deepEqual((await must('get_current_principal', {}, session)).grants, ['skill:read', 'agent:read']);
    await must('update_capsule', { id: capsule.id, allowedTools: ['get_current_principal'] });
    const own = await call(capsule, 'get_current_principal');
    assert.deepEqual([own.type, own.id, own.email, own.isAdmin], ['capsule', capsule.id, undefined, false]);
  });
});
