import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';
import { postIdToken, signIn, statusWith } from '../support/sign-in.ts';
import { openStream } from '../support/stream.ts';
import { writing } from '../support/writing.ts';

const server = await startTestServer();

const ask = (method: string, path: string, body?: unknown, key = server.adminKey) =>
  rest(server, method, `/api/v1/platform-users${path}`, { key, body });

async function person(email: string, role?: string) {
  const { status, body } = await ask('POST', '', { email, role });
  assert.equal(status, 201);
  return body;
}

/** A key of the rights that acts for the user. */
async function keyOf(userId: string, rights: { scopes?: string[]; grants?: string[] }): Promise<string> {
  const made = await must('create_api_key', { name: 'k', scopes: [], ...rights });
  await writing(server.store).apiKeys.update(made.id, { ownerId: userId });
  return made.secret;
}

const { must, refused, call } = callsOf(server);
const firstOwner = async () => (await ask('GET', '?limit=100')).body.data.at(-1);

describe('create_admin_user', () => {
  it('makes an active member that get and list show', async () => {
    const user = await person('New.Person@example.com');
    assert.match(user.id, /^usr_/);
    assert.deepEqual([user.role, user.isActive, user.revision], ['member', true, 1]);
    assert.deepEqual((await ask('GET', `/${user.id}`)).body, user);
    assert.deepEqual((await ask('GET', '?limit=1')).body.data, [user]);
  });

  it('takes an e-mail once, whatever its case, also from callers at the same time', async () => {
    await person('twice@example.com');
    const again = await ask('POST', '', { email: 'TWICE@Example.com' });
    assert.deepEqual([again.status, again.body.code], [409, 'conflict']);
    const answers = await Promise.all(
      ['race@e.com', 'Race@e.com', 'RACE@e.com'].map((email) => ask('POST', '', { email })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
  });

  it('names every problem of the input', async () => {
    const { status, body } = await ask('POST', '', { email: 'no address', role: ' ', isActive: false });
    assert.equal(status, 400);
    assert.deepEqual(pluck(body.issues, 'path').sort(), ['email', 'isActive', 'role']);
  });
});

describe('list_admin_users', () => {
  it('filters by isActive', async () => {
    const mine = await person('mine@example.com');
    await ask('POST', `/${mine.id}/deactivate`);
    const listed = async (isActive: boolean) =>
      pluck((await must('list_admin_users', { isActive, limit: 100 })).data, 'id');
    assert.ok(!(await listed(true)).includes(mine.id));
    assert.ok((await listed(false)).includes(mine.id));
  });
});

describe('update_admin_user', () => {
  const admin = async (role: string, email: string) => {
    const user = await person(email, role);
    return { user, key: await keyOf(user.id, { scopes: ['admin'] }) };
  };

  it('changes e-mail, name and role, clears the name, and keeps the revision where nothing changes', async () => {
    const { id, revision } = await person('before@example.com');
    const change = { id, email: 'After@Example.com', name: 'Ada', role: 'admin', expectedRevision: revision };
    const changed = await must('update_admin_user', change);
    assert.deepEqual(
      [changed.email, changed.name, changed.role, changed.revision],
      ['after@example.com', 'Ada', 'admin', 2],
    );
    assert.deepEqual(await must('update_admin_user', { id, email: 'AFTER@example.com', role: 'admin' }), changed);
    assert.equal((await must('update_admin_user', { id, name: null })).name, undefined);
    assert.equal((await refused('update_admin_user', change)).currentRevision, 3);
    assert.equal((await refused('update_admin_user', { id: 'usr_none', name: 'x' })).code, 'not_found');
  });

  it('takes no e-mail of somebody else, whatever its case', async () => {
    await person('taken@example.com');
    const { id } = await person('wants@example.com');
    const { code, error } = await refused('update_admin_user', { id, email: 'TAKEN@example.com' });
    assert.equal(code, 'conflict');
    assert.match(error, /has this email; choose another/);
  });

  it('ends sessions, links and ID tokens with another e-mail or role, and with nothing else', async () => {
    const { id, email } = await person('signs-in@example.com');
    const cookie = await signIn(server, email);
    const link = () => must('create_sign_in_link', { email });
    await must('update_admin_user', { id, name: 'Same person', email, role: 'member' });
    assert.equal(await statusWith(server, cookie), 200);
    const unused = await link();
    await must('update_admin_user', { id, role: 'admin' });
    assert.equal(await statusWith(server, cookie), 401);
    assert.equal((await postIdToken(server, unused.idToken)).status, 401);
    const moved = await link();
    await must('update_admin_user', { id, email: 'moved@example.com' });
    const heir = await person(email);
    assert.equal((await postIdToken(server, moved.idToken)).status, 401);
    assert.equal(await server.store.signInLinks.count({ where: { userId: id } }), 0);
    assert.equal((await postIdToken(server, (await link()).idToken)).body.user.id, heir.id);
  });

  it('lets a limited key change the name of its own person, and nothing more', async () => {
    const { id } = await person('own-name@example.com');
    const other = await person('other-name@example.com');
    const key = await keyOf(id, { grants: ['admin-user:write'] });
    assert.equal((await must('update_admin_user', { id, name: 'Mine' }, key)).name, 'Mine');
    for (const input of [
      { id, email: 'stolen@example.com' },
      { id, role: 'owner' },
      { id: other.id, name: 'Theirs' },
    ]) {
      const { code, required } = await refused('update_admin_user', input, key);
      assert.deepEqual([code, required], ['forbidden', { scope: 'admin', grant: '*' }]);
    }
  });

  it('needs full access that does not expire for an e-mail or role', async () => {
    const { id } = await person('lasting@example.com');
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const key = await makeKey(server, { scopes: ['admin'], expiresAt });
    assert.equal((await must('update_admin_user', { id, name: 'Named' }, key)).name, 'Named');
    for (const change of [{ email: 'later@example.com' }, { role: 'admin' }]) {
      const { code, issues } = await refused('update_admin_user', { id, ...change }, key);
      assert.equal(code, 'forbidden');
      assert.match(issues?.[0]?.message ?? '', /use one without an end/);
    }
  });

  it('is for owners where it concerns an owner, as are new owners and links for them', async () => {
    const { key } = await admin('admin', 'no-owner@example.com');
    const owner = await person('an-owner@example.com', 'owner');
    const { id } = await person('promoted@example.com');
    for (const [tool, input] of [
      ['update_admin_user', { id: owner.id, email: 'taken-over@example.com' }],
      ['update_admin_user', { id: owner.id, role: 'member' }],
      ['update_admin_user', { id, role: 'owner' }],
      ['create_admin_user', { email: 'puppet@example.com', role: 'owner' }],
      ['create_sign_in_link', { email: owner.email }],
    ] as const) {
      const { code, issues } = await refused(tool, input, key);
      assert.deepEqual([code, issues?.[0]?.message.includes('owner')], ['forbidden', true], tool);
    }
    assert.equal((await must('update_admin_user', { id, role: 'admin' }, key)).role, 'admin');
    assert.equal((await must('update_admin_user', { id: owner.id, role: 'admin' })).role, 'admin');
  });

  it('leaves one active owner, also when two give up the role at the same time', async () => {
    const first = await firstOwner();
    const last = await refused('update_admin_user', { id: first.id, role: 'member' });
    assert.deepEqual([last.code, /last active owner/.test(last.error)], ['conflict', true]);
    assert.equal((await must('update_admin_user', { id: first.id, name: 'Sole' })).name, 'Sole');
    const second = await admin('owner', 'second-of-two@example.com');
    const answers = await Promise.all([
      call('update_admin_user', { id: first.id, role: 'member' }),
      call('update_admin_user', { id: second.user.id, role: 'member' }, second.key),
    ]);
    assert.equal(answers.filter((answer) => 'error' in answer).length, 1);
    assert.equal(await server.store.adminUsers.count({ where: { role: 'owner', isActive: true } }), 1);
    await server.store.transaction(async (tx) => {
      await tx.adminUsers.update(first.id, { role: 'owner' });
      await tx.adminUsers.update(second.user.id, { role: 'member' });
    });
  });
});

describe('deactivate_admin_user and reactivate_admin_user', () => {
  it('can be repeated, without a new revision', async () => {
    const user = await person('repeat@example.com');
    const off = await ask('POST', `/${user.id}/deactivate`);
    assert.deepEqual([off.status, off.body.isActive, off.body.revision], [200, false, 2]);
    assert.deepEqual((await ask('POST', `/${user.id}/deactivate`)).body, off.body);
    const on = await ask('POST', `/${user.id}/reactivate`);
    assert.deepEqual([on.status, on.body.isActive, on.body.revision], [200, true, 3]);
    assert.deepEqual((await ask('POST', `/${user.id}/reactivate`)).body, on.body);
    for (const verb of ['deactivate', 'reactivate']) assert.equal((await ask('POST', `/usr_none/${verb}`)).status, 404);
  });

  it('stop the keys of the user from the next request on, at every door, and let them work again', async () => {
    const user = await person('keys@example.com');
    const key = await keyOf(user.id, { scopes: ['read'] });
    const status = async () => [
      (await rest(server, 'GET', '/api/v1/agents', { key })).status,
      (await rest(server, 'POST', '/api/v1/mcp', { key, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }))
        .status,
    ];
    assert.deepEqual(await status(), [200, 200]);
    await ask('POST', `/${user.id}/deactivate`);
    assert.deepEqual(await status(), [401, 401]);
    await ask('POST', `/${user.id}/reactivate`);
    assert.deepEqual(await status(), [200, 200]);
  });

  it('end the open streams of the user, and of nobody else', async () => {
    const user = await person('streams@example.com');
    const theirs = await openStream(server, await keyOf(user.id, { scopes: ['read'] }));
    const others = await openStream(server, await makeKey(server, { scopes: ['read'] }));
    assert.equal(await Promise.race([theirs.ended, delay(1, 'open')]), 'open');
    await ask('POST', `/${user.id}/deactivate`);
    assert.equal(await Promise.race([theirs.ended, delay(30_000, 'open', { ref: false })]), 'ended');
    assert.equal(await Promise.race([others.ended, delay(1, 'open')]), 'open');
  });

  it('refuse to lock yourself out', async () => {
    const user = await person('self@example.com', 'owner');
    const key = await keyOf(user.id, { scopes: ['admin'] });
    const refused = await ask('POST', `/${user.id}/deactivate`, undefined, key);
    assert.deepEqual([refused.status, refused.body.code], [409, 'conflict']);
    assert.match(refused.body.error, /lock yourself out/);
    await ask('POST', `/${user.id}/deactivate`);
  });

  it('leave one active owner, also when two are deactivated at the same time', async () => {
    const first = await firstOwner();
    const member = await person('not-an-owner@example.com');
    const key = await keyOf(member.id, { scopes: ['admin'] });
    const last = await ask('POST', `/${first.id}/deactivate`, undefined, key);
    assert.deepEqual([last.status, last.body.code], [409, 'conflict']);
    assert.match(last.body.error, /last active owner/);
    const second = await person('second-owner@example.com', 'owner');
    const answers = await Promise.all([first, second].map(({ id }) => call('deactivate_admin_user', { id }, key)));
    assert.equal(answers.filter((answer) => 'error' in answer).length, 1);
    assert.equal(await server.store.adminUsers.count({ where: { role: 'owner', isActive: true } }), 1);
  });
});
