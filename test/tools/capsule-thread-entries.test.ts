import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeCapsule, makeKey } from '../support/calls.ts';
import { capsuleClients } from '../support/capsules.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, call, codeOf } = callsOf(server);
const through = capsuleClients(() => server);
const GRANTS = ['capsule', 'thread'];
const TOOLS = { allowedTools: ['get_thread', 'list_messages'] };

async function secretThread(...principals: { type: string; id: string; role: string }[]): Promise<string> {
  const messages = [{ role: 'user', content: 'the secret' }];
  const { id } = await must('create_thread', { title: 'Secret', visibility: 'restricted', messages });
  const entries = principals.map(({ type, id, role }) => ({ principal: { type, id }, role }));
  await must('add_thread_access', { id, entries });
  return id;
}

/** Every way to get the token of a capsule or to change what it does. */
const ways: Readonly<Record<string, [tool: string, input: object]>> = {
  'its token': ['rotate_capsule_token', {}],
  'its token, with the other one still good': ['rotate_capsule_token', { graceSeconds: 3600 }],
  'more tools': ['update_capsule', { allowedTools: ['get_thread', 'list_messages', 'list_threads'] }],
  'other denied tools': ['update_capsule', { deniedTools: [] }],
  'arguments that are fixed no longer': ['update_capsule', { constraints: null }],
  'its service': ['update_capsule', { status: 'live' }],
  'a longer life': ['update_capsule', { expiresAt: null }],
  'more calls': ['update_capsule', { callsPerMinute: null }],
};

describe('a capsule with an entry in a restricted thread', () => {
  for (const [what, [tool, input]] of Object.entries(ways)) {
    it(`gives ${what} to nobody who is less in the thread`, async () => {
      const { secret, id: keyId } = await must('create_api_key', { name: 'k', scopes: [], grants: GRANTS });
      const { id, token } = await makeCapsule(server, { ...TOOLS, constraints: { list_messages: { limit: 1 } } });
      const threadId = await secretThread({ type: 'capsule', id, role: 'editor' });
      const attempt = () => call(tool, { id, ...input }, secret);

      const refused = await attempt();
      assert.ok('error' in refused && refused.error.code === 'forbidden', JSON.stringify(refused));
      assert.match(refused.error.issues?.[0]?.message ?? '', /restricted threads in which you have less/);
      assert.ok(!JSON.stringify(refused).includes(threadId));
      assert.equal(
        (await through.call({ id, token }, 'get_thread', { id: threadId })).id,
        threadId,
        'the token still works',
      );

      const role = (role: string) =>
        must('add_thread_access', { id: threadId, entries: [{ principal: { type: 'api-key', id: keyId }, role }] });
      await role('viewer');
      assert.ok('error' in (await attempt()), 'a viewer is less than an editor');
      await role('editor');
      assert.ok('output' in (await attempt()));
    });
  }

  it('may be renamed, ended and deleted by whoever may write it', async () => {
    const key = await makeKey(server, { grants: GRANTS });
    const { id } = await makeCapsule(server, TOOLS);
    await secretThread({ type: 'capsule', id, role: 'viewer' });
    const renamed = await must('update_capsule', { id, name: 'renamed', description: null }, key);
    assert.equal(renamed.name, 'renamed');
    assert.equal((await must('update_capsule', { id, status: 'disabled' }, key)).status, 'disabled');
    assert.deepEqual(await must('delete_capsule', { id }, key), {});
  });

  it('is no matter for full access, nor where its entry is in a thread of the workspace', async () => {
    const { id } = await makeCapsule(server, TOOLS);
    const threadId = await secretThread({ type: 'capsule', id, role: 'owner' });
    assert.ok((await must('rotate_capsule_token', { id })).token);
    await must('update_thread_access', { id: threadId, visibility: 'workspace' });
    assert.ok((await must('rotate_capsule_token', { id }, await makeKey(server, { grants: GRANTS }))).token);
  });
});

describe('the sessions of an admin user with entries', () => {
  it('are begun by nobody without full access', async () => {
    const [user] = (await must('list_admin_users')).data;
    const key = await makeKey(server, { grants: ['admin-user', 'session', 'key', 'capsule', 'thread'] });
    for (const [tool, input] of [
      ['create_sign_in_link', { email: user.email }],
      ['create_admin_user', { email: 'second@localhost' }],
      ['reactivate_admin_user', { id: user.id }],
    ] as const) {
      assert.equal(await codeOf(tool, input, key), 'forbidden', tool);
    }
  });
});
