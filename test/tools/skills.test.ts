import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rest } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();

const ask = (method: string, path: string, body?: unknown) =>
  rest(server, method, `/api/v1/agents${path}`, { key: server.adminKey, body });

describe('skills', () => {
  it('have unique names', async () => {
    await ask('POST', '/skills', { name: 'one' });
    const { body } = await ask('POST', '/skills', { name: 'two' });
    assert.equal((await ask('POST', '/skills', { name: 'one' })).status, 409);
    assert.equal((await ask('PATCH', `/skills/${body.id}`, { name: 'one' })).status, 409);
  });

  it('are found by name', async () => {
    await ask('POST', '/skills', { name: 'to find' });
    const named = async (name: string) =>
      (await ask('GET', `/skills?name=${encodeURIComponent(name)}`)).body.data.map(
        (found: { name: string }) => found.name,
      );
    assert.deepEqual(await named('to find'), ['to find']);
    assert.deepEqual(await named('to fin'), []);
  });

  it('have names of more than white space', async () => {
    const { status, body } = await ask('POST', '/skills', { name: ' \t' });
    assert.deepEqual([status, body.issues[0].path], [400, 'name']);
    assert.equal((await ask('POST', '/skills', { name: ' padded ' })).body.name, 'padded');
  });

  it('cannot be deleted while an agent uses them, which is named', async () => {
    const { body: skill } = await ask('POST', '/skills', { name: 'used' });
    const { body: agent } = await ask('POST', '', { name: 'user of it', displayName: 'u', skillIds: [skill.id] });
    const refused = await ask('DELETE', `/skills/${skill.id}`);
    assert.equal(refused.status, 409);
    assert.match(refused.body.error, /used by user of it/);
    await ask('DELETE', `/${agent.id}`);
    assert.equal((await ask('DELETE', `/skills/${skill.id}`)).status, 204);
    const revived = await ask('PATCH', `/${agent.id}`, { status: 'active' });
    assert.equal(revived.status, 409);
    assert.match(revived.body.error, /There is no skill/);
  });
});
