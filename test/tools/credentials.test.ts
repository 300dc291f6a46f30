import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requireEntriesWithin } from '../../tools/core/access/visibility.ts';
import { callsOf, makeKey } from '../support/calls.ts';
import { principalOf } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';
import { cookieOf, postIdToken, signIn, statusWith } from '../support/sign-in.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);

let made = 0;
/** A person with full access, who is no owner. */
async function admin() {
  made += 1;
  const email = `admin-${made}@example.com`;
  const { id } = await must('create_admin_user', { email });
  return { id, email, session: await signIn(server, email) };
}

const keyOf = (session: string, more: object = {}) =>
  must('create_api_key', { name: 'script', scopes: ['admin'], ...more }, session);

/** A restricted thread in which these principals have a role. */
async function threadFor(...principals: { type: string; id: string; role: string }[]): Promise<string> {
  const { id } = await must('create_thread', { title: 'Secret', visibility: 'restricted' });
  const entries = principals.map(({ type, id, role }) => ({ principal: { type, id }, role }));
  await must('add_thread_access', { id, entries });
  return id;
}

describe('a key of somebody else', () => {
  it('is not rotated, whatever the rights of the caller, but taken over', async () => {
    const [ada, bob] = [await admin(), await admin()];
    const key = await keyOf(bob.session);
    for (const caller of [ada.session, (await keyOf(ada.session)).secret, server.adminKey]) {
      const { code, issues } = await refused('rotate_api_key', { id: key.id }, caller);
      assert.equal(code, 'forbidden');
      assert.match(issues?.[0]?.message ?? '', /acts for somebody else; take_over/);
    }
    assert.equal(await statusWith(server, key.secret), 200, 'its secret still works');
    const { secret } = await must(
      'take_over',
      { type: 'key', id: key.id, expectedRevision: key.revision },
      ada.session,
    );
    assert.equal((await must('rotate_api_key', { id: key.id }, secret)).ownerId, ada.id);
  });

  it('is taken over by an owner alone where it acts for an owner', async () => {
    const { id, session } = await admin();
    const key = await keyOf(server.adminKey);
    const wish = { type: 'key', id: key.id, expectedRevision: key.revision };
    for (const caller of [session, (await keyOf(session)).secret]) {
      for (const tool of ['take_over', 'rotate_api_key']) {
        const input = tool === 'take_over' ? wish : { id: key.id };
        assert.equal((await refused(tool, input, caller)).code, 'forbidden', tool);
      }
    }
    const promote = { id, role: 'owner' };
    assert.equal((await refused('update_admin_user', promote, session)).code, 'forbidden');
    const other = await must('create_admin_user', { email: `owner-of-${key.id}@example.com`, role: 'owner' });
    const asOwner = await signIn(server, other.email);
    assert.equal((await must('take_over', wish, asOwner)).key.ownerId, other.id);
  });

  it('is revoked by whoever has its rights, also where it acts for an owner', async () => {
    const { session } = await admin();
    const { id, secret } = await keyOf(server.adminKey);
    await must('revoke_api_key', { id }, session);
    assert.equal(await statusWith(server, secret), 401);
  });
});

describe('a capsule of somebody else', () => {
  it('is given no other token, but taken over, by an owner alone where it acts for an owner', async () => {
    const [ada, bob] = [await admin(), await admin()];
    const make = (key: string) => must('create_capsule', { name: 'c', status: 'live' }, key);
    const [ofBob, ofOwner] = [await make(bob.session), await make(server.adminKey)];
    for (const { id } of [ofBob, ofOwner]) {
      const { code, issues } = await refused('rotate_capsule_token', { id }, ada.session);
      assert.equal(code, 'forbidden');
      assert.match(issues?.[0]?.message ?? '', /acts for somebody else; take_over/);
    }
    const wish = { type: 'capsule', expectedRevision: 1, token: 'rotate' };
    assert.equal((await refused('take_over', { ...wish, id: ofOwner.id }, ada.session)).code, 'forbidden');
    assert.equal((await must('take_over', { ...wish, id: ofBob.id }, ada.session)).capsule.ownerId, ada.id);
    assert.ok((await must('rotate_capsule_token', { id: ofBob.id }, ada.session)).token);
  });
});

describe('an owner', () => {
  it('is made, signed in and let back in by owners alone', async () => {
    const { id, session } = await admin();
    const owner = await must('create_admin_user', { email: `owner-${id}@example.com`, role: 'owner' });
    const ways = [
      ['create_admin_user', { email: 'new@example.com', role: 'owner' }],
      ['create_sign_in_link', { email: owner.email }],
      ['update_admin_user', { id: owner.id, email: 'mine@example.com' }],
      ['update_admin_user', { id, role: 'owner' }],
      ['update_admin_user', { id: owner.id, role: 'member' }],
    ] as const;
    for (const [tool, input] of ways) assert.equal((await refused(tool, input, session)).code, 'forbidden', tool);
    await must('deactivate_admin_user', { id: owner.id }, session);
    assert.equal((await refused('reactivate_admin_user', { id: owner.id }, session)).code, 'forbidden');
    assert.equal((await must('reactivate_admin_user', { id: owner.id })).isActive, true);
  });
});

describe('an admin user who is deactivated', () => {
  it('leaves no session and no link behind that they made for others', async () => {
    const [ada, bob, cy] = [await admin(), await admin(), await admin()];
    const linkFor = async (email: string) => (await must('create_sign_in_link', { email }, ada.session)).idToken;
    const begun = cookieOf(await postIdToken(server, await linkFor(bob.email)));
    const unused = await linkFor(cy.email);
    assert.equal(await statusWith(server, begun), 200);
    await must('deactivate_admin_user', { id: ada.id });
    assert.equal(await statusWith(server, begun), 401, 'the session that their link began');
    assert.equal((await postIdToken(server, unused)).status, 401, 'their link that nobody opened');
    assert.equal(await statusWith(server, bob.session), 200, 'a session of another maker');
  });
});

describe('requireEntriesWithin', () => {
  it('looks at all threads, however many are read at once', async () => {
    const { id } = await keyOf(server.adminKey);
    const caller = principalOf({ type: 'api-key', id: 'key_caller', grants: ['key', 'thread'] });
    const mine = { type: 'api-key', id: caller.id } as const;
    const threads: string[] = [];
    for (let at = 0; at < 5; at += 1) threads.push(await threadFor({ type: 'api-key', id, role: 'viewer' }));
    const shareWithCaller = (threadId: string) =>
      server.store.transaction(async ({ threads }) => {
        const { entries, accessKeys } = await threads.read(threadId);
        const entry = { principal: mine, role: 'viewer', createdAt: new Date().toISOString(), grantedBy: 'x' } as const;
        await threads.touch(threadId, {
          entries: [...entries, entry],
          accessKeys: [...accessKeys, `api-key:${mine.id}`],
        });
      });
    const check = () =>
      requireEntriesWithin({ store: server.store, principal: caller }, { type: 'api-key', id }, { batch: 2 });
    for (const threadId of threads.toReversed()) {
      await assert.rejects(check, /Insufficient permissions/, 'a thread is left in which the caller has no role');
      await shareWithCaller(threadId);
    }
    await check();
  });
});

describe('a key with an entry in a restricted thread', () => {
  const GRANTS = ['key', 'thread'];

  for (const tool of ['rotate_api_key', 'take_over']) {
    it(`gets no new secret by ${tool} for those who are less in the thread`, async () => {
      const key = await keyOf(server.adminKey, { scopes: [], grants: GRANTS });
      const caller = await keyOf(server.adminKey, { scopes: [], grants: GRANTS });
      const threadId = await threadFor({ type: 'api-key', id: key.id, role: 'editor' });
      const input = tool === 'take_over' ? { type: 'key', expectedRevision: key.revision } : {};
      const attempt = () => refused(tool, { id: key.id, ...input }, caller.secret);
      const error = await attempt();
      assert.equal(error.code, 'forbidden');
      assert.match(error.issues?.[0]?.message ?? '', /restricted threads in which you have less/);
      assert.ok(!JSON.stringify(error).includes(threadId));
      assert.equal((await must('get_thread', { id: threadId }, key.secret)).id, threadId, 'its secret still works');

      const give = (role: string) =>
        must('add_thread_access', { id: threadId, entries: [{ principal: { type: 'api-key', id: caller.id }, role }] });
      await give('viewer');
      assert.equal((await attempt()).code, 'forbidden', 'a viewer is less than an editor');
      await give('editor');
      assert.ok((await must(tool, { id: key.id, ...input }, caller.secret)).secret);
    });
  }

  it('turns its own secret, and is revoked by whoever has its rights', async () => {
    const key = await keyOf(server.adminKey, { scopes: [], grants: GRANTS });
    await threadFor({ type: 'api-key', id: key.id, role: 'owner' });
    const { secret } = await must('rotate_api_key', { id: key.id }, key.secret);
    const other = await makeKey(server, { grants: GRANTS });
    await must('revoke_api_key', { id: key.id }, other);
    assert.equal(await statusWith(server, secret), 401);
  });
});
