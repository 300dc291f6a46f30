import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { catalog } from '../../tools/catalog.ts';
import { actingFor } from '../../tools/core/access/agent-principal.ts';
import { isSession } from '../../tools/core/access/principal.ts';
import { authenticateSession } from '../../tools/sign-in/open-sessions.ts';
import { callTool, makeKey, outcomesOf, rest, toolNames } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { cookieOf, idTokenFor, postIdToken, signIn, statusWith } from '../support/sign-in.ts';
import { openStream } from '../support/stream.ts';
import { until } from '../support/until.ts';

let server: TestServer;
const { must, call, codeOf } = outcomesOf((tool, input, key: string = server.adminKey) =>
  callTool(server, key, tool, input),
);
/** One for each test: attempts to sign in are counted. */
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

const person = (email: string, role?: string) => must('create_admin_user', { email, ...(role && { role }) });
const listed = async (key: string, input: object = {}) => (await must('list_sessions', input, key)).data;

async function auditOf(tool: string) {
  return (await must('list_audit_entries', { tool, limit: 1 })).data[0];
}

describe('a session', () => {
  it('does everything an admin key does, over REST and MCP', async () => {
    const cookie = await signIn(server);
    assert.deepEqual(await toolNames(server, cookie), await toolNames(server, server.adminKey));
    const made = await rest(server, 'POST', '/api/v1/agents', { key: cookie, body: { name: 'a', displayName: 'A' } });
    assert.equal(made.status, 201);
    const patched = await rest(server, 'PATCH', `/api/v1/agents/${made.body.id}`, {
      key: cookie,
      body: { tools: ['*'] },
    });
    assert.equal(patched.status, 200);
    assert.equal((await must('get_agent', { id: made.body.id }, cookie)).displayName, 'A');
    await must('update_settings', { workspaceName: 'By a session' }, cookie);
    await must('create_admin_user', { email: 'by-session@example.com' }, cookie);
    await must('provision_agent_identity', { id: made.body.id, card: { cardRef: 'x' } }, cookie);
    const { author } = (await must('list_versions', { entityType: 'agent', entityId: made.body.id }, cookie)).data[0];
    const { user } = (await rest(server, 'GET', '/api/v1/auth/session', { key: cookie })).body;
    assert.deepEqual(author, { type: 'session', id: user.id, name: 'admin@localhost' });
    assert.deepEqual((await auditOf('provision_agent_identity')).principal, author);
  });

  it('is named the dashboard where it says so, and a key is not', async () => {
    const cookie = await signIn(server);
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_skills', arguments: {} } };
    for (const [key, door] of [
      [cookie, 'dashboard'],
      [server.adminKey, 'mcp'],
    ] as const) {
      await rest(server, 'POST', '/api/v1/mcp', { key, body, headers: { 'X-Agent-Admin-Door': 'dashboard' } });
      assert.equal((await auditOf('list_skills')).door, door);
    }
  });

  it('makes keys that outlive it, within its own rights, for its user', async () => {
    const cookie = await signIn(server);
    const key = await must('create_api_key', { name: 'mine', scopes: ['admin'] }, cookie);
    const { user } = (await rest(server, 'GET', '/api/v1/auth/session', { key: cookie })).body;
    assert.deepEqual([key.ownerId, key.createdBy, key.expiresAt], [user.id, user.id, undefined]);
    await rest(server, 'DELETE', '/api/v1/auth/session', { key: cookie });
    assert.equal(await statusWith(server, key.secret), 200);
  });

  it('is matched by the thread access of its user', async () => {
    const user = await person('threads@example.com');
    const cookie = await signIn(server, user.email);
    const thread = await must('create_thread', { title: 'Mine' }, cookie);
    const { entries } = await must('get_thread_access', { id: thread.id }, cookie);
    assert.deepEqual(entries[0].principal, { type: 'user', id: user.id });
  });

  it('ends on the next request: by signing out, by an administrator, at its time', async () => {
    const [out, ended, expired, kept] = [
      await signIn(server),
      await signIn(server),
      await signIn(server),
      await signIn(server),
    ];
    const gone = await rest(server, 'DELETE', '/api/v1/auth/session', { key: out });
    assert.deepEqual([gone.status, gone.body], [204, undefined]);
    assert.match(gone.headers.getSetCookie()[0] ?? '', /^admin-session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/);
    const current = (await listed(ended)).find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
    assert.equal((await must('end_session', { id: current.id })).id, current.id);
    const { id } = (await listed(expired)).find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
    const expiresAt = server.clock.in(60_000);
    await server.store.transaction((tx) => tx.sessions.touch(id, { expiresAt }));
    assert.equal(await statusWith(server, expired), 200);
    server.clock.pass(60_000);
    for (const cookie of [out, ended, expired]) assert.equal(await statusWith(server, cookie), 401);
    assert.equal(await statusWith(server, kept), 200);
    assert.equal((await rest(server, 'DELETE', '/api/v1/auth/session', { key: out })).status, 401);
    assert.equal(await codeOf('end_session', { id: current.id }), 'not_found');
  });

  it('ends its open streams with it', async () => {
    const cookie = await signIn(server);
    const stream = await openStream(server, cookie);
    const other = await signIn(server);
    const witness = await openStream(server, other);
    await rest(server, 'DELETE', '/api/v1/auth/session', { key: other });
    assert.equal(await Promise.race([witness.ended, delay(30_000, 'open', { ref: false })]), 'ended');
    assert.equal(await Promise.race([stream.ended, delay(1, 'open')]), 'open');
    await rest(server, 'DELETE', '/api/v1/auth/session', { key: cookie });
    assert.equal(await Promise.race([stream.ended, delay(30_000, 'open', { ref: false })]), 'ended');
  });

  it('ends 12 hours after it began, however it is used', async () => {
    const answer = await postIdToken(server, await idTokenFor(server));
    const cookie = cookieOf(answer);
    await statusWith(server, cookie);
    const [session] = await listed(cookie, { limit: 1 });
    assert.equal(Date.parse(session.expiresAt) - Date.parse(answer.body.user.lastSignInAt), 12 * 3600 * 1000);
    assert.equal(session.expiresAt, answer.body.expiresAt);
  });

  it('notes its last use, without a new revision, at most once a minute', async () => {
    const cookie = await signIn(server);
    await statusWith(server, cookie);
    const one = async () => (await listed(cookie, { limit: 1 }))[0];
    await until(async () => (await one()).lastUsedAt !== undefined);
    const first = await one();
    assert.equal(first.revision, 1);
    await statusWith(server, cookie);
    const witness = await signIn(server);
    await statusWith(server, witness);
    await until(async () => (await listed(witness, { limit: 1 }))[0].lastUsedAt !== undefined); // noted after it
    const noted = (await listed(cookie)).find(({ id }: { id: string }) => id === first.id);
    assert.equal(noted.lastUsedAt, first.lastUsedAt);
  });
});

describe('deactivating an admin user', () => {
  it('ends sessions and keys before it is answered, and reactivating brings back the keys alone', async () => {
    const user = await person('leaves@example.com');
    const cookies = [await signIn(server, user.email), await signIn(server, user.email)];
    const other = await signIn(server);
    const { secret } = await must('create_api_key', { name: 'k', scopes: ['read'] }, cookies[0] ?? '');
    const unused = await idTokenFor(server, user.email);
    const path = `/api/v1/platform-users/${user.id}`;
    assert.equal((await rest(server, 'POST', `${path}/deactivate`, { key: other })).status, 200);
    assert.equal(await server.store.sessions.count({ where: { userId: user.id } }), 0);
    for (const key of [...cookies, secret]) assert.equal(await statusWith(server, key), 401);
    assert.equal((await postIdToken(server, unused)).status, 401);
    assert.equal(await statusWith(server, other), 200);
    assert.equal((await rest(server, 'POST', `${path}/reactivate`, { key: other })).status, 200);
    for (const cookie of cookies) assert.equal(await statusWith(server, cookie), 401);
    assert.equal(await statusWith(server, secret), 200);
  });

  it('ends the links that they made for others', async () => {
    const [maker, other] = [await person('maker@example.com'), await person('other@example.com')];
    const cookie = await signIn(server, maker.email);
    const link = await must('create_sign_in_link', { email: other.email }, cookie);
    await must('deactivate_admin_user', { id: maker.id });
    await must('reactivate_admin_user', { id: maker.id });
    assert.equal((await postIdToken(server, link.idToken)).status, 401);
    assert.equal((await postIdToken(server, await idTokenFor(server, other.email))).status, 201);
  });

  it('leaves no session to a sign-in at the same time', async () => {
    const user = await person('races@example.com');
    const idToken = await idTokenFor(server, user.email);
    const [answer] = await Promise.all([postIdToken(server, idToken), must('deactivate_admin_user', { id: user.id })]);
    if (answer.status === 201) assert.equal(await statusWith(server, cookieOf(answer)), 401);
    assert.equal(await server.store.sessions.count({ where: { userId: user.id } }), 0);
  });

  it('of more sessions than a page ends them all', async () => {
    const user = await person('many@example.com');
    await server.store.transaction(async (tx) => {
      const expiresAt = server.clock.in(60_000);
      for (let index = 0; index < 250; index += 1) {
        await tx.sessions.insert({ userId: user.id, email: user.email, expiresAt });
      }
    });
    await must('deactivate_admin_user', { id: user.id });
    assert.equal(await server.store.sessions.count({ where: { userId: user.id } }), 0);
  });
});

describe('get_session', () => {
  it('says who is signed in and until when', async () => {
    const answer = await postIdToken(server, await idTokenFor(server));
    const { status, body } = await rest(server, 'GET', '/api/v1/auth/session', { key: cookieOf(answer) });
    assert.equal(status, 200);
    assert.deepEqual(body, {
      type: 'session',
      user: answer.body.user,
      scopes: ['*'],
      expiresAt: answer.body.expiresAt,
    });
  });

  it('describes a key to itself, without secrets', async () => {
    const expiresAt = server.clock.in(60_000);
    const key = await makeKey(server, { scopes: ['read'], grants: ['agent:read'], expiresAt });
    const { body } = await rest(server, 'GET', '/api/v1/auth/session', { key });
    assert.deepEqual(
      [body.type, body.scopes, body.grants, body.expiresAt],
      ['api-key', ['read'], ['agent:read'], expiresAt],
    );
    assert.equal(key.split('_')[1], body.key.prefix);
    assert.ok(!JSON.stringify(body).includes('hash') && body.user === undefined);
  });
});

describe('delete_session', () => {
  it('is out of reach of an agent that acts for the person', async () => {
    const cookie = await signIn(server);
    const id = (await listed(cookie))[0].id;
    const person = await authenticateSession(server.store, id, new Date());
    assert.ok(person && isSession(person));
    assert.equal(isSession(actingFor(person, { id: 'agt_1', name: 'a', tools: ['*'] }, catalog)), false);
  });

  it('refuses a key, which has no session', async () => {
    const { status, body } = await rest(server, 'DELETE', '/api/v1/auth/session', { key: server.adminKey });
    assert.deepEqual([status, body.code], [409, 'conflict']);
    assert.equal(await statusWith(server, server.adminKey), 200);
  });
});

describe('list_sessions', () => {
  it('shows who is signed in from where, newest first, by person, without anything that signs in', async () => {
    const user = await person('listed@example.com');
    const made = await postIdToken(server, await idTokenFor(server, user.email), {
      'User-Agent': `Fox ${'x'.repeat(300)}`,
    });
    const cookie = cookieOf(made);
    const [own, ...others] = await listed(cookie, { userId: user.id, limit: 1 });
    assert.deepEqual(others, []);
    assert.deepEqual([own.email, own.userId, own.isCurrent, own.client.length], [user.email, user.id, true, 200]);
    const [again] = await listed(server.adminKey, { userId: user.id });
    assert.equal(again.isCurrent, false);
    await signIn(server);
    assert.deepEqual(pluck(await listed(server.adminKey), 'email'), ['admin@localhost', user.email]);
  });

  it('is narrowed to the sessions that a key is limited to', async () => {
    await signIn(server);
    const [{ id }] = await listed(server.adminKey, { limit: 1 });
    const key = await makeKey(server, { grants: [`session:read:${id}`, `session:write:${id}`] });
    assert.deepEqual(
      (await listed(key)).map((session: { id: string }) => session.id),
      [id],
    );
    await must('end_session', { id }, key);
    assert.equal(await codeOf('end_session', { id: 'ses_other' }, key), 'forbidden');
  });
});

describe('create_sign_in_link', () => {
  it('gives a link and an ID token for an active admin user, and is not kept', async () => {
    const user = await person('link@example.com');
    const link = await must('create_sign_in_link', { email: 'LINK@example.com' });
    assert.match(link.url, new RegExp(`^${server.baseUrl}/sign-in/link\\?token=[\\w-]{43}$`));
    assert.ok(Math.abs(Date.parse(link.expiresAt) - Date.now() - 600_000) < 5000);
    assert.equal((await postIdToken(server, link.idToken)).body.user.id, user.id);
    const meta = { idempotencyKey: 'one link' };
    const ask = () => callTool(server, server.adminKey, 'create_sign_in_link', { email: user.email }, meta);
    assert.ok('output' in (await ask()));
    const repeat = await ask();
    assert.equal('error' in repeat && repeat.error.code, 'conflict');
    assert.ok(!JSON.stringify(await must('list_audit_entries', { limit: 100 })).includes(link.idToken));
  });

  it('is for callers with full access, and for people who may sign in', async () => {
    const user = await person('inactive@example.com');
    await must('deactivate_admin_user', { id: user.id });
    for (const email of [user.email, 'nobody@example.com']) {
      assert.equal(await codeOf('create_sign_in_link', { email }), 'not_found');
    }
    const limited = await makeKey(server, { scopes: ['admin'], grants: ['admin-user', 'session', 'key'] });
    const refused = await call('create_sign_in_link', { email: 'admin@localhost' }, limited);
    assert.deepEqual('error' in refused && refused.error.required, { scope: 'admin', grant: '*' });
  });
});
