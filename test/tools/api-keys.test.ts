import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey, rest, toolNames } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';
import { openStream } from '../support/stream.ts';
import { until } from '../support/until.ts';
import { writing } from '../support/writing.ts';

/** Later than the latest time to which a test sets the clock. */
const YEARS = 10 * 365 * 24 * 3_600_000;

const server = await startTestServer();
const { must, refused, call, codeOf } = callsOf(server);
const status = async (key: string, path = '/api/v1/health') => (await rest(server, 'GET', path, { key })).status;

async function refusal(key: string, input: object) {
  return await refused('create_api_key', { name: 'k', scopes: [], ...input }, key);
}

describe('create_api_key', () => {
  it('shows the secret once and stores prefix and hash alone', async () => {
    const made = await must('create_api_key', { name: 'once', scopes: ['read'] });
    assert.match(made.secret, /^ak_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}$/);
    assert.equal(made.secret.split('_')[1], made.prefix);
    const listed = JSON.stringify(await must('list_api_keys', { limit: 100 }));
    const stored = JSON.stringify(await server.store.apiKeys.get(made.id));
    for (const text of [listed, JSON.stringify(server.log)]) {
      assert.equal(text.includes(made.secret) || text.includes('"hash"'), false);
    }
    assert.equal(stored.includes(made.secret), false);
    assert.equal(await status(made.secret), 200);
  });

  for (const [grant, message] of [
    ['', /may not be empty/],
    ['agent:', /Segment 2 of the grant is empty/],
    [':read', /Segment 1 of the grant is empty/],
    ['agent::x', /Segment 2 of the grant is empty/],
    ['agent:read ', /white space/],
    ['a:b:c:d', /at most 3 segments/],
  ] as const) {
    it(`refuses the grant ${JSON.stringify(grant)}`, async () => {
      const error = await refusal(server.adminKey, { grants: ['agent:read', grant] });
      assert.equal(error.code, 'invalid_input');
      assert.equal(error.issues?.[0]?.path, 'grants[1]');
      assert.match(error.issues?.[0]?.message ?? '', message);
    });
  }

  it('refuses unknown scopes with the nearest names, *, no rights at all, and a past expiry', async () => {
    assert.match((await refusal(server.adminKey, { scopes: ['agent:read'] })).error, /did you mean agents:read/);
    assert.match((await refusal(server.adminKey, { scopes: ['*'] })).error, /for sessions alone/);
    assert.match((await refusal(server.adminKey, { scopes: [], grants: [] })).error, /opens nothing/);
    const past = await refusal(server.adminKey, { scopes: ['read'], expiresAt: '2020-01-01T00:00:00Z' });
    assert.equal(past.issues?.[0]?.path, 'expiresAt');
  });

  it('gives a caller limited by grants no more than its own grants cover', async () => {
    const key = await makeKey(server, { scopes: ['admin'], grants: ['key:write', 'agent:read', 'skill:read:skl_1'] });
    await must(
      'create_api_key',
      {
        name: 'k',
        scopes: [],
        grants: ['agent:read:agt_1', 'skill:read:skl_1'],
      },
      key,
    );
    for (const grants of [['*'], ['agent'], ['agent:write'], ['skill:read'], ['agent:read', '*:read']]) {
      const error = await refusal(key, { grants });
      assert.deepEqual([error.code, error.error], ['forbidden', 'Insufficient permissions']);
    }
    for (const rights of [{ scopes: ['read'] }, { scopes: ['admin'], grants: [] }]) {
      assert.equal((await refusal(key, rights)).code, 'forbidden');
    }
  });

  it('makes no key that outlives its maker', async () => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const key = await makeKey(server, { scopes: ['admin'], expiresAt });
    assert.equal((await refusal(key, { scopes: ['read'] })).code, 'forbidden');
    const later = new Date(Date.now() + 120_000).toISOString();
    assert.equal((await refusal(key, { scopes: ['read'], expiresAt: later })).code, 'forbidden');
    assert.ok('output' in (await call('create_api_key', { name: 'k', scopes: ['read'], expiresAt }, key)));
  });

  it('compares times as instants, however they are written', async () => {
    const second = `${new Date(Date.now() + 3_600_000).toISOString().slice(0, 19)}`;
    const key = await makeKey(server, { scopes: ['admin'], expiresAt: `${second}Z` });
    assert.ok(
      'output' in (await call('create_api_key', { name: 'k', scopes: ['read'], expiresAt: `${second}.000Z` }, key)),
    );
    assert.equal((await refusal(key, { scopes: ['read'], expiresAt: `${second}.001Z` })).code, 'forbidden');
  });
});

describe('list_api_keys', () => {
  it('filters by state and owner, page by page', async () => {
    const key = async (name: string, more: object = {}) =>
      (await must('create_api_key', { name, scopes: ['read'], ...more })).id;
    const dead = [await key('dead'), await key('dead too')];
    for (const id of dead) await must('revoke_api_key', { id });
    const expired = await key('over', { expiresAt: new Date(Date.now() + 60_000).toISOString() });
    const before = new Date(Date.now() - 1000).toISOString();
    await writing(server.store).apiKeys.update(expired, { expiresAt: before });
    const ids = async (input: object) => (await must('list_api_keys', { limit: 100, ...input })).data.map(idOf);
    assert.deepEqual((await ids({ state: 'revoked' })).slice(0, 2), dead.toReversed());
    assert.ok((await ids({ state: 'expired' })).includes(expired));
    const active = await ids({ state: 'active' });
    assert.ok(active.length > 0 && ![...dead, expired].some((id) => active.includes(id)));
    const all = ['active', 'expired', 'revoked'].map((state) => ids({ state }));
    assert.deepEqual((await Promise.all(all)).flat().sort(), (await ids({})).sort());
    const first = await must('list_api_keys', { state: 'revoked', limit: 1, includeTotal: true });
    const second = await must('list_api_keys', { state: 'revoked', limit: 1, cursor: first.nextCursor });
    assert.deepEqual([idOf(first.data[0]), idOf(second.data[0])], dead.toReversed());
    assert.equal(first.total, (await ids({ state: 'revoked' })).length);
    assert.equal((await refusedList({ state: 'active', cursor: first.nextCursor })).code, 'invalid_input');
    assert.deepEqual(await ids({ ownerId: 'usr_none' }), []);
  });

  const idOf = ({ id }: { id: string }) => id;
  const refusedList = (input: object) => refused('list_api_keys', input);
});

describe('a key', () => {
  it('with grants is judged by them alone: one agent, one in the list, nothing else', async () => {
    const made = [];
    for (const name of ['one', 'two']) made.push(await must('create_agent', { name, displayName: name }));
    const [mine, other] = made;
    const key = await makeKey(server, { scopes: ['admin'], grants: [`agent:read:${mine.id}`] });
    assert.equal(await status(key, `/api/v1/agents/${mine.id}`), 200);
    assert.equal(await status(key, `/api/v1/agents/${other.id}`), 403);
    const { body } = await rest(server, 'GET', '/api/v1/agents?includeTotal=true', { key });
    assert.deepEqual([pluck(body.data, 'id'), body.total], [[mine.id], 1]);
    for (const path of ['/agents/skills', '/agents/health', '/health', '/agents/models', '/agents/tools']) {
      assert.equal(await status(key, `/api/v1${path}`), 403, path);
    }
    assert.equal(
      (await rest(server, 'POST', '/api/v1/agents', { key, body: { name: 'x', displayName: 'x' } })).status,
      403,
    );
    assert.deepEqual(await must('list_agents', {}, key), { data: body.data, nextCursor: null });
    const agents = ['list_agents', 'get_agent', 'list_agent_runs', 'get_agent_run'];
    const versions = ['list_versions', 'get_version', 'diff_version'];
    assert.deepEqual(await toolNames(server, key), [
      ...agents,
      ...versions,
      'get_current_principal',
      'get_approval',
      'wait_for_approval',
    ]);
    for (const name of ['create_api_key', 'update_agent', 'list_audit_entries']) {
      assert.equal(await codeOf(name, { id: mine.id }, key), 'forbidden', name);
    }
  });

  it('may name its agent by name, percent-encoded', async () => {
    const agent = await must('create_agent', { name: 'My Agent', displayName: 'x' });
    const key = await makeKey(server, { grants: ['agent:read:My%20Agent'] });
    assert.equal(await status(key, `/api/v1/agents/${agent.id}`), 200);
    assert.equal((await must('list_agents', {}, key)).data.length, 1);
  });

  it('is dead from the next request on once it is revoked, expired or its owner deactivated', async () => {
    const made = await must('create_api_key', { name: 'short', scopes: ['read'] });
    const first = await must('revoke_api_key', { id: made.id });
    assert.ok(first.revokedAt);
    assert.deepEqual(await must('revoke_api_key', { id: made.id }), first);
    assert.equal(await status(made.secret), 401);

    const expiring = await makeKey(server, { scopes: ['read'], expiresAt: server.clock.in(60_000) });
    assert.equal(await status(expiring), 200);
    server.clock.pass(60_000);
    assert.equal(await status(expiring), 401);

    const { id: userId } = await writing(server.store).adminUsers.insert({
      email: 'm@example.com',
      role: 'member',
      isActive: true,
    });
    const owned = await must('create_api_key', { name: 'owned', scopes: ['read'] });
    await writing(server.store).apiKeys.update(owned.id, { ownerId: userId });
    assert.equal(await status(owned.secret), 200);
    await writing(server.store).adminUsers.update(userId, { isActive: false });
    assert.equal(await status(owned.secret), 401);
  });

  it('notes its last use, without a new revision', async () => {
    const made = await must('create_api_key', { name: 'noted', scopes: ['read'] });
    await status(made.secret);
    const key = () => server.store.apiKeys.get(made.id);
    await until(async () => (await key())?.lastUsedAt !== undefined);
    assert.equal((await key())?.revision, 1);
  });
});

describe('rotate_api_key', () => {
  it('gives a new secret, shown this once, and ends the old one at once', async () => {
    const made = await must('create_api_key', { name: 'turned', scopes: ['read'] });
    const rotated = await must('rotate_api_key', { id: made.id });
    const { secret, prefix, rotatedAt, ...same } = rotated;
    assert.match(secret, /^ak_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}$/);
    assert.deepEqual([secret.split('_')[1], same.id, same.scopes], [prefix, made.id, ['read']]);
    assert.ok(rotatedAt);
    assert.deepEqual([await status(made.secret), await status(secret)], [401, 200]);
    const listed = JSON.stringify(await must('list_api_keys', { limit: 100 }));
    assert.ok(!listed.includes(secret) && !/"(hash|replaced\w*)"/.test(listed));
    assert.ok(!JSON.stringify(await server.store.apiKeys.get(made.id)).includes(secret));
  });

  it('leaves the old secret good for graceSeconds, and a rotation without grace ends all of them', async () => {
    const made = await must('create_api_key', { name: 'grace', scopes: ['read'] });
    const second = await must('rotate_api_key', { id: made.id, graceSeconds: 600 });
    const brief = await must('rotate_api_key', { id: made.id, graceSeconds: 600 });
    const secrets = [made.secret, second.secret, brief.secret];
    assert.deepEqual(await Promise.all(secrets.map((key) => status(key))), [200, 200, 200]);
    const past = new Date(Date.now() - 1000).toISOString();
    const { replaced = [] } = (await server.store.apiKeys.get(made.id)) ?? {};
    const over = replaced.map((old, at) => (at === 0 ? { ...old, until: past } : old));
    await writing(server.store).apiKeys.update(made.id, { replaced: over });
    assert.deepEqual(await Promise.all(secrets.map((key) => status(key))), [401, 200, 200]);
    const last = await must('rotate_api_key', { id: made.id });
    const all = [...secrets, last.secret];
    assert.deepEqual(await Promise.all(all.map((key) => status(key))), [401, 401, 401, 200]);
  });

  it('shows until when earlier secrets work, and revoke_api_key ends them alone with earlierOnly', async () => {
    const made = await must('create_api_key', { name: 'earlier', scopes: ['read'] });
    const turned = await must('rotate_api_key', { id: made.id, graceSeconds: 600 });
    assert.deepEqual(pluck(turned.earlierSecrets, 'prefix'), [made.prefix]);
    assert.ok(Date.parse(turned.earlierSecrets[0].until) > Date.now());
    const ended = await must('revoke_api_key', { id: made.id, earlierOnly: true });
    assert.deepEqual([ended.earlierSecrets, ended.revokedAt], [undefined, undefined]);
    assert.deepEqual([await status(made.secret), await status(turned.secret)], [401, 200]);
  });

  it('ends open streams of the old secret, and says why', async () => {
    const made = await must('create_api_key', { name: 'stream', scopes: ['read'] });
    const stream = await openStream(server, made.secret);
    await must('rotate_api_key', { id: made.id });
    assert.equal(await stream.ended, 'ended');
  });

  it('turns no key that ended, and none beyond the rights or the life of the caller', async () => {
    const made = await must('create_api_key', { name: 'over', scopes: ['read'] });
    await must('revoke_api_key', { id: made.id });
    assert.deepEqual((await refused('rotate_api_key', { id: made.id })).code, 'conflict');
    const strong = await must('create_api_key', { name: 'strong', scopes: ['admin'] });
    const weak = await makeKey(server, { grants: ['key:write', 'agent:read'] });
    assert.equal((await refused('rotate_api_key', { id: strong.id }, weak)).code, 'forbidden');
    const within = await must('create_api_key', { name: 'within', scopes: [], grants: ['agent:read:x'] });
    assert.ok((await must('rotate_api_key', { id: within.id }, weak)).secret);
    const expiresAt = new Date(Date.now() + YEARS).toISOString();
    const ending = await makeKey(server, { scopes: ['admin'], expiresAt });
    assert.equal((await refused('rotate_api_key', { id: strong.id }, ending)).code, 'forbidden');
  });

  it('binds the new secret to the expiring key that asked for it, and no two keys to each other', async () => {
    const expiresAt = new Date(Date.now() + YEARS).toISOString();
    const one = await must('create_api_key', { name: 'one', scopes: ['admin'], expiresAt });
    const other = await must('create_api_key', { name: 'other', scopes: ['admin'], expiresAt });
    const { secret } = await must('rotate_api_key', { id: other.id }, one.secret);
    const again = await must('rotate_api_key', { id: one.id }, secret);
    assert.deepEqual([await status(secret), await status(again.secret)], [200, 200]);
    await must('revoke_api_key', { id: one.id });
    assert.equal(await status(secret), 401);
  });

  it('lets a key that may write itself turn its own secret', async () => {
    const made = await must('create_api_key', { name: 'self', scopes: ['admin'] });
    const { secret } = await must('rotate_api_key', { id: made.id }, made.secret);
    assert.deepEqual([await status(made.secret), await status(secret)], [401, 200]);
  });
});
