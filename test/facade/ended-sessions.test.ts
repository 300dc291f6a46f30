import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { callsOf, rest } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { cookieOf, postIdToken } from '../support/sign-in.ts';
import { openStream } from '../support/stream.ts';
import { writing } from '../support/writing.ts';
import { modernHeaders, modernMeta } from './mcp-requests.ts';

const server = serverForTests();
const { must } = callsOf(server);

/** Everything a session reads by, each a request and the status it has. */
function doorsOf(skillId: string): Readonly<Record<string, (key: string) => Promise<number>>> {
  const get = (path: string) => async (key: string) => (await rest(server, 'GET', path, { key })).status;
  const rpc = (method: string, params?: object, headers?: Record<string, string>) => async (key: string) => {
    const body = { jsonrpc: '2.0', id: 1, method, ...(params && { params }) };
    return (await rest(server, 'POST', '/api/v1/mcp', { key, body, ...(headers && { headers }) })).status;
  };
  return {
    'a REST record': get(`/api/v1/agents/skills/${skillId}`),
    'a REST list': get('/api/v1/agents/skills'),
    'the session itself': get('/api/v1/auth/session'),
    OpenAPI: get('/api/v1/openapi'),
    'the MCP stub': get('/api/v1/mcp'),
    'tools/list': rpc('tools/list'),
    'tools/list of 2026-07-28': rpc('tools/list', { _meta: modernMeta }, modernHeaders('tools/list')),
    'tools/call': rpc('tools/call', { name: 'get_skill', arguments: { id: skillId } }),
    'tools/call of the dashboard': rpc('tools/call', { name: 'list_skills' }, { 'X-Agent-Admin-Door': 'dashboard' }),
    'resources/read': rpc('resources/read', { uri: `skill://${skillId}` }),
    'prompts/list': rpc('prompts/list'),
    'a page': async (key) => {
      const response = await fetch(`${server.baseUrl}/`, { headers: { Cookie: key }, redirect: 'manual' });
      await response.text();
      return response.status;
    },
  };
}

let made = 0;
async function person() {
  made += 1;
  const { id, email } = await must('create_admin_user', { email: `reads-${made}@example.com` });
  return { id, email };
}

async function sessionOf(email: string, key = server.adminKey): Promise<string> {
  const { idToken } = await must('create_sign_in_link', { email }, key);
  return cookieOf(await postIdToken(server, idToken));
}

interface Case {
  readonly cookie: string;
  end(): Promise<unknown>;
}

const cases: Readonly<Record<string, () => Promise<Case>>> = {
  'its person is deactivated': async () => {
    const { id, email } = await person();
    return { cookie: await sessionOf(email), end: () => must('deactivate_admin_user', { id }) };
  },
  'its person gets another e-mail': async () => {
    const { id, email } = await person();
    const end = () => must('update_admin_user', { id, email: `new-${email}` });
    return { cookie: await sessionOf(email), end };
  },
  'it is ended by an administrator': async () => {
    const { id: userId, email } = await person();
    const cookie = await sessionOf(email);
    const [{ id }] = (await must('list_sessions', { userId })).data;
    return { cookie, end: () => must('end_session', { id }) };
  },
  'the key that made its link is revoked': async () => {
    const { email } = await person();
    const { id, secret } = await must('create_api_key', { name: 'links', scopes: ['admin'] });
    return { cookie: await sessionOf(email, secret), end: () => must('revoke_api_key', { id }) };
  },
  'the key that made its link expires': async () => {
    const { email } = await person();
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { id, secret } = await must('create_api_key', { name: 'links', scopes: ['admin'], expiresAt });
    const over = new Date(Date.now() - 1).toISOString();
    const end = () => writing(server.store).apiKeys.update(id, { expiresAt: over });
    return { cookie: await sessionOf(email, secret), end };
  },
  'the person who made its link is deactivated': async () => {
    const [maker, { email }] = [await person(), await person()];
    const cookie = await sessionOf(email, await sessionOf(maker.email));
    return { cookie, end: () => must('deactivate_admin_user', { id: maker.id }) };
  },
  'the owner of the key that made its link is deactivated': async () => {
    const [owner, { email }] = [await person(), await person()];
    const { secret } = await must('create_api_key', { name: 'links', scopes: ['admin'] }, await sessionOf(owner.email));
    const cookie = await sessionOf(email, secret);
    return { cookie, end: () => must('deactivate_admin_user', { id: owner.id }) };
  },
};

describe('a session that has read', () => {
  for (const [when, begin] of Object.entries(cases)) {
    it(`is refused at the very next request, at every door, once ${when}`, async () => {
      const { id } = await must('create_skill', { name: `read ${when}`, instructions: 'Read.' });
      const { cookie, end } = await begin();
      const doors = Object.entries(doorsOf(id));
      for (const [door, read] of doors) assert.equal(await read(cookie), 200, door);
      const stream = await openStream(server, cookie);
      await end();
      const statuses = await Promise.all(doors.map(async ([door, read]) => [door, await read(cookie)]));
      assert.deepEqual(
        statuses,
        doors.map(([door]) => [door, door === 'a page' ? 303 : 401]),
      );
      assert.equal(await Promise.race([stream.ended, delay(30_000, 'open', { ref: false })]), 'ended');
    });
  }
});
