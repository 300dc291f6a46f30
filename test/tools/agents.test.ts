import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../facade/routes.ts';
import { RESERVED_AGENT_NAMES } from '../../tools/agents/agents.ts';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';
import { writing } from '../support/writing.ts';

const server = await startTestServer();
const { must, call } = callsOf(server);

const asAdmin = (method: string, path: string, body?: unknown) =>
  rest(server, method, path, { key: server.adminKey, body });
const create = async (name: string, more: object = {}) => {
  const answer = await asAdmin('POST', '/api/v1/agents', { name, displayName: name, ...more });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
};

describe('create_agent', () => {
  it('fills in status, limits and bookkeeping', async () => {
    const agent = await create('defaults');
    assert.match(agent.id, /^agt_[0-9a-z]{26}$/);
    assert.deepEqual(
      { status: agent.status, maxSteps: agent.maxSteps, memoryPolicy: agent.memoryPolicy, revision: agent.revision },
      { status: 'active', maxSteps: 10, memoryPolicy: { remember: false, maxInjected: 20 }, revision: 1 },
    );
    assert.equal(agent.createdAt, agent.updatedAt);
  });

  it('takes a memory policy in part, and changes it in part', async () => {
    const agent = await create('rememberer', { memoryPolicy: { remember: true } });
    assert.deepEqual(agent.memoryPolicy, { remember: true, maxInjected: 20 });
    const few = await create('few', { memoryPolicy: { maxInjected: 3 } });
    assert.deepEqual(few.memoryPolicy, { remember: false, maxInjected: 3 });
    const change = async (memoryPolicy: object) =>
      (await asAdmin('PATCH', `/api/v1/agents/${few.id}`, { memoryPolicy })).body.memoryPolicy;
    assert.deepEqual(await change({ remember: true }), { remember: true, maxInjected: 3 });
    assert.deepEqual(await change({ maxInjected: 5 }), { remember: true, maxInjected: 5 });
    assert.deepEqual(await change({}), { remember: true, maxInjected: 5 });
    const wrong = await asAdmin('PATCH', `/api/v1/agents/${few.id}`, { memoryPolicy: { rember: true } });
    assert.match(wrong.body.error, /did you mean "remember"/);
  });

  it('warns of a model that is not there, in every answer, and takes it all the same', async () => {
    const agent = await create('modeled', { modelPreference: 'offline/rehersal' });
    assert.match(agent.warnings[0], /no model "offline\/rehersal" now.*offline\/rehearsal/);
    const path = `/api/v1/agents/${agent.id}`;
    assert.deepEqual((await asAdmin('GET', path)).body.warnings, agent.warnings);
    const mended = await asAdmin('PATCH', path, { modelPreference: 'offline/rehearsal' });
    assert.deepEqual([mended.status, mended.body.warnings], [200, undefined]);
    const again = await asAdmin('PATCH', path, { modelPreference: 'nobody/x' });
    assert.match(again.body.warnings[0], /"nobody\/x".*list_models/);
  });

  it('refuses a name that is a path of the API beside those of agents', async () => {
    const prefix = '/api/v1/agents/';
    const beside = routes
      .map(({ path }) => path.slice(prefix.length))
      .filter((_, at) => routes[at]?.path.startsWith(prefix));
    const names = [...new Set(beside.filter((rest) => /^[a-z-]+$/.test(rest)))].sort();
    assert.deepEqual(names, [...RESERVED_AGENT_NAMES].sort());
    for (const name of [...names, ' health ']) {
      const { status, body } = await asAdmin('POST', '/api/v1/agents', { name, displayName: 'x' });
      assert.deepEqual([status, body.issues?.[0].path], [400, 'name'], name);
    }
    const old = {
      name: 'health',
      displayName: 'Old',
      status: 'active',
      maxSteps: 1,
      memoryPolicy: { remember: false, maxInjected: 0 },
    } as const;
    const { id } = await writing(server.store).agents.insert(old);
    assert.equal((await asAdmin('PATCH', `/api/v1/agents/${id}`, { displayName: 'New' })).body.displayName, 'New');
    assert.equal((await asAdmin('DELETE', `/api/v1/agents/${id}`)).status, 200);
  });

  it('takes booleans in a query as JSON and as Python write them', async () => {
    for (const value of ['true', 'True', 'false', 'False']) {
      assert.equal((await asAdmin('GET', `/api/v1/agents?includeTotal=${value}`)).status, 200, value);
    }
    assert.equal((await asAdmin('GET', '/api/v1/agents?includeTotal=TRUE')).status, 400);
  });

  it('trims the name and refuses one that is taken', async () => {
    assert.equal((await create('  padded ')).name, 'padded');
    const { status, body } = await asAdmin('POST', '/api/v1/agents', { name: 'padded', displayName: 'x' });
    assert.deepEqual([status, body.code], [409, 'conflict']);
  });

  it('names every problem at once, unknown members with the nearest allowed name', async () => {
    const { status, body } = await asAdmin('POST', '/api/v1/agents', {
      name: '',
      displayname: 'x',
      maxSteps: 99,
      tools: [1],
    });
    assert.equal(status, 400);
    assert.deepEqual(pluck(body.issues, 'path').sort(), ['displayName', 'displayname', 'maxSteps', 'name', 'tools[0]']);
    const unknown = body.issues.find(({ path }: { path: string }) => path === 'displayname');
    assert.match(unknown.message, /did you mean "displayName"/);
  });

  it('refuses server-managed identity members by name', async () => {
    for (const [identity, path] of [
      [{ phone: { enabled: true, number: '+15550100' } }, 'identity.phone.number'],
      [{ phone: { enabled: true, a2pStatus: 'registered' } }, 'identity.phone.a2pStatus'],
      [{ card: { enabled: true, cardRef: 'card_1' } }, 'identity.card.cardRef'],
    ] as const) {
      const { status, body } = await asAdmin('POST', '/api/v1/agents', { name: 'n', displayName: 'n', identity });
      assert.equal(status, 400);
      assert.equal(body.issues[0].path, path);
      assert.match(body.issues[0].message, /managed by the server; provision_agent_identity/);
    }
  });

  it('holds the limits of the specification', async () => {
    const socials = Array.from({ length: 21 }, () => ({ platform: 'x', url: 'https://y.example' }));
    for (const identity of [{ socials }, { email: { alias: '' } }, { card: { enabled: true, spendLimitUsd: -1 } }]) {
      const { status } = await asAdmin('POST', '/api/v1/agents', { name: 'n', displayName: 'n', identity });
      assert.equal(status, 400, JSON.stringify(identity));
    }
    await create('twenty', { identity: { socials: socials.slice(1) } });
  });

  it('refuses a name that looks like an id and skills that do not exist', async () => {
    const { id } = await create('origin');
    assert.equal((await asAdmin('POST', '/api/v1/agents', { name: id, displayName: 'x' })).status, 400);
    const { status, body } = await asAdmin('POST', '/api/v1/agents', {
      name: 'x',
      displayName: 'x',
      skillIds: ['skl_none'],
    });
    assert.deepEqual([status, body.issues[0].path], [400, 'skillIds[0]']);
  });

  it('has a skill once, however often it is named', async () => {
    const one = await must('create_skill', { name: 'named twice' });
    const skillIds = [one.id, one.id];
    const made = await must('create_agent', { name: 'twice', displayName: 'x', skillIds });
    assert.deepEqual(made.skillIds, [one.id]);
    const same = await must('update_agent', { id: made.id, skillIds });
    assert.deepEqual([same.skillIds, same.revision], [[one.id], 1]);
  });

  it('warns of allowlist entries that match no tool, with the nearest names', async () => {
    const agent = await create('listed', { tools: ['get_agent', 'list_*', 'get_agnet'] });
    assert.equal(agent.warnings.length, 1);
    assert.match(agent.warnings[0], /"get_agnet" matches no tool now; similar names: get_agent/);
    assert.deepEqual((await asAdmin('GET', `/api/v1/agents/${agent.id}`)).body.warnings, agent.warnings);
    const asking = await create('asking', { tools: ['create_skill'], askFirst: ['create_*', 'create_skil'] });
    assert.equal(asking.warnings.length, 1);
    assert.match(asking.warnings[0], /^askFirst: "create_skil" matches no tool now; similar names: create_skill/);
  });

  it('lets nobody put tools into an allowlist that they may not call', async () => {
    const key = await makeKey(server, { scopes: ['agents:write', 'agents:read'] });
    const ask = (tools: string[]) =>
      rest(server, 'POST', '/api/v1/agents', { key, body: { name: tools[0], displayName: 'x', tools } });
    for (const tools of [['create_api_key'], ['get_skill'], ['list_*']]) {
      const { status, body } = await ask(tools);
      assert.deepEqual([status, body.error], [403, 'Insufficient permissions']);
      assert.ok(body.required.scope);
    }
    assert.equal((await ask(['get_agent'])).status, 201);
  });
});

describe('names of agents', () => {
  it('are composed, and hold nothing that cannot be seen', async () => {
    await create('caf\u00e9');
    assert.equal((await asAdmin('POST', '/api/v1/agents', { name: 'cafe\u0301', displayName: 'x' })).status, 409);
    for (const name of ['\u200b', 'a\nb', '\u202eevil', ' ']) {
      assert.equal(
        (await asAdmin('POST', '/api/v1/agents', { name, displayName: 'x' })).status,
        400,
        JSON.stringify(name),
      );
    }
    await create('👩‍👩‍👧 family');
  });

  it('come without an identity where nothing is in it', async () => {
    const agent = await create('empty identity', { identity: {} });
    const { body } = await asAdmin('PATCH', `/api/v1/agents/${agent.id}`, { identity: {} });
    assert.deepEqual(body, agent);
  });
});

describe('update_agent', () => {
  it('merges top-level members and those of identity, null clears', async () => {
    const { id } = await create('merge', { description: 'd', identity: { bio: 'b', signature: 's' } });
    const patch = { description: null, identity: { signature: null, email: { alias: 'a' } } };
    const { status, body } = await asAdmin('PATCH', `/api/v1/agents/${id}`, patch);
    assert.equal(status, 200);
    assert.deepEqual(body.identity, { bio: 'b', email: { alias: 'a' } });
    assert.equal('description' in body, false);
    assert.equal(body.revision, 2);
    assert.equal('identity' in (await asAdmin('PATCH', `/api/v1/agents/${id}`, { identity: null })).body, false);
  });

  it('keeps the revision when nothing changes', async () => {
    const agent = await create('same', { description: 'd' });
    const { body } = await asAdmin('PATCH', `/api/v1/agents/${agent.id}`, { description: 'd', status: 'active' });
    assert.deepEqual(body, agent);
    const { body: versions } = await asAdmin('GET', `/api/v1/versions/agent/${agent.id}`);
    assert.equal(versions.data.length, 1);
  });

  it('refuses a stale expectedRevision and names the current one', async () => {
    const { id } = await create('stale');
    await asAdmin('PATCH', `/api/v1/agents/${id}`, { description: 'one' });
    const { status, body } = await asAdmin('PATCH', `/api/v1/agents/${id}`, {
      description: 'two',
      expectedRevision: 1,
    });
    assert.deepEqual([status, body.code, body.currentRevision], [409, 'conflict', 2]);
    assert.equal(
      (await asAdmin('PATCH', `/api/v1/agents/${id}`, { description: 'two', expectedRevision: 2 })).status,
      200,
    );
  });

  it('lets one of many writers with the same expectedRevision win', async () => {
    const { id } = await create('race');
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        asAdmin('PATCH', `/api/v1/agents/${id}`, { description: `${n}`, expectedRevision: 1 }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(15).fill(409)]);
  });

  it('refuses a body that repeats the path parameter', async () => {
    const { id } = await create('repeat');
    const { status, body } = await asAdmin('PATCH', `/api/v1/agents/${id}`, { id, description: 'x' });
    assert.deepEqual([status, body.issues[0].path], [400, 'id']);
  });

  it('renames only with agent:write for all agents', async () => {
    const { id } = await create('renamed');
    const key = await makeKey(server, { grants: [`agent:write:${id}`] });
    const patch = (body: object) => rest(server, 'PATCH', `/api/v1/agents/${id}`, { key, body });
    assert.equal((await patch({ description: 'mine' })).status, 200);
    const { status, body } = await patch({ name: 'other' });
    assert.deepEqual([status, body.required.grant], [403, 'agent:write']);
  });
});

describe('delete_agent', () => {
  it('is soft, idempotent, frees the name and is undone by status active', async () => {
    const { id } = await create('gone');
    const first = await asAdmin('DELETE', `/api/v1/agents/${id}`);
    assert.deepEqual([first.status, first.body.status], [200, 'deleted']);
    assert.deepEqual((await asAdmin('DELETE', `/api/v1/agents/${id}`)).body, first.body);
    assert.equal((await asAdmin('GET', `/api/v1/agents/${id}`)).status, 200);
    assert.equal((await asAdmin('PATCH', `/api/v1/agents/${id}`, { description: 'x' })).status, 409);
    assert.equal((await asAdmin('PATCH', `/api/v1/agents/${id}`, { status: 'paused' })).status, 409);
    await create('gone');
    assert.equal((await asAdmin('PATCH', `/api/v1/agents/${id}`, { status: 'active' })).status, 409);
    const revived = await asAdmin('PATCH', `/api/v1/agents/${id}`, { status: 'active', name: 'back' });
    assert.deepEqual([revived.status, revived.body.name, revived.body.status], [200, 'back', 'active']);
  });
});

describe('list_agents', () => {
  it('hides deleted ones, filters by status, pages newest first with a total', async () => {
    const ids: string[] = [];
    for (const n of [1, 2, 3, 4, 5]) ids.unshift((await create(`page ${n}`, { description: 'page' })).id);
    await asAdmin('PATCH', `/api/v1/agents/${ids[1]}`, { status: 'paused' });
    await asAdmin('DELETE', `/api/v1/agents/${ids[0]}`);
    const first = await asAdmin('GET', '/api/v1/agents?limit=2&includeTotal=true');
    assert.deepEqual(pluck(first.body.data, 'id'), [ids[1], ids[2]]);
    const second = await asAdmin('GET', `/api/v1/agents?limit=2&includeTotal=true&cursor=${first.body.nextCursor}`);
    assert.deepEqual(pluck(second.body.data, 'id'), [ids[3], ids[4]]);
    assert.equal(first.body.total, second.body.total);
    const paused = await asAdmin('GET', '/api/v1/agents?status=paused');
    assert.deepEqual(pluck(paused.body.data, 'id'), [ids[1]]);
    const deleted = await asAdmin('GET', '/api/v1/agents?status=deleted&limit=1');
    assert.equal(deleted.body.data[0].id, ids[0]);
  });

  it('refuses limits out of range, foreign cursors and unknown parameters', async () => {
    const { body } = await asAdmin('GET', '/api/v1/agents?limit=1');
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=1.5',
      'limit=ten',
      'limit=1&limit=2',
      'cursor=abc',
      'statuss=active',
      `status=active&cursor=${body.nextCursor}`,
      'includeTotal=1',
    ]) {
      const answer = await asAdmin('GET', `/api/v1/agents?${query}`);
      assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_input'], query);
    }
  });
});

describe('an identity as it was read', () => {
  it('can be written back, with what is masked, and keeps what is not given; null clears what clients write', async () => {
    const { id } = await create('read back', { identity: { bio: 'b', phone: { enabled: true } } });
    const managed = { id, phone: { number: '+15550100', a2pStatus: 'pending' }, card: { cardRef: 'card_1' } };
    const { identity } = await must('provision_agent_identity', managed);
    assert.deepEqual([identity.phone.number, identity.card.cardRef], ['•••', '•••']);
    const patch = (change: unknown) => asAdmin('PATCH', `/api/v1/agents/${id}`, { identity: change });
    const written = await patch({ ...identity, bio: 'c' });
    assert.deepEqual([written.status, written.body.identity], [200, { ...identity, bio: 'c' }]);
    const { phone, card } = (await server.store.agents.get(id))?.identity ?? {};
    assert.deepEqual([phone?.number, phone?.a2pStatus, card?.cardRef], ['+15550100', 'pending', 'card_1']);
    for (const [change, path] of [
      [{ phone: { enabled: true, number: '+15550199' } }, 'identity.phone.number'],
      [{ phone: { enabled: true, a2pStatus: 'registered' } }, 'identity.phone.a2pStatus'],
      [{ card: { enabled: true, cardRef: 'card_2' } }, 'identity.card.cardRef'],
    ] as const) {
      const { status, body } = await patch(change);
      assert.deepEqual([status, body.issues.map((issue: { path: string }) => issue.path)], [400, [path]]);
      assert.match(body.issues[0].message, /managed by the server; provision_agent_identity/);
    }
    const cleared = await patch(null);
    assert.deepEqual(Object.keys(cleared.body.identity), ['phone', 'card']);
    assert.deepEqual(cleared.body.identity.phone, { enabled: false, number: '•••', a2pStatus: 'pending' });
  });

  it('keeps nothing that is not there', async () => {
    const { id } = await create('nothing to keep');
    const identity = { phone: { enabled: true, number: '•••' } };
    const { status, body } = await asAdmin('PATCH', `/api/v1/agents/${id}`, { identity });
    assert.deepEqual([status, body.issues[0].path], [400, 'identity.phone.number']);
    assert.match(body.issues[0].message, /^There is no stored value to keep/);
  });
});

describe('provision_agent_identity', () => {
  const provision = (input: object) => call('provision_agent_identity', input);

  it('records number and card reference, masked in every answer, version, diff, error and audit entry', async () => {
    const { id } = await create('masked', { identity: { bio: 'b' } });
    const secrets = ['+15550123', 'card_secret_9'];
    await provision({ id, phone: { number: secrets[0] }, card: { cardRef: secrets[1] } });
    await asAdmin('PATCH', `/api/v1/agents/${id}`, { identity: { phone: { enabled: true } } });
    const agent = (await asAdmin('GET', `/api/v1/agents/${id}`)).body;
    assert.deepEqual(agent.identity.phone, { enabled: true, number: '•••' });
    assert.deepEqual(agent.identity.card, { enabled: false, cardRef: '•••' });
    await provision({ id: 'agt_none', phone: { number: secrets[0] } });
    await provision({ id, phone: { number: [secrets[0]] }, card: secrets[1] });

    const { body: versions } = await asAdmin('GET', `/api/v1/versions/agent/${id}`);
    const diff = await asAdmin('GET', `/api/v1/versions/agent/${id}/${versions.data[0].id}/diff?against=1`);
    const audit = await must('list_audit_entries', { limit: 100 });
    const list = await asAdmin('GET', '/api/v1/agents?limit=100');
    const seen = JSON.stringify([agent, versions, diff.body, audit, list.body, server.log]);
    for (const secret of secrets) assert.equal(seen.includes(secret), false, secret);
    assert.ok(seen.includes('[redacted]'));
  });

  it('moves a2pStatus step by step and back', async () => {
    const { id } = await create('a2p');
    const to = async (a2pStatus: string) => {
      const answer = await provision({ id, phone: { a2pStatus } });
      return 'error' in answer ? answer.error.code : 'ok';
    };
    assert.equal(await to('registered'), 'conflict');
    assert.equal(await to('pending'), 'ok');
    assert.equal(await to('registered'), 'ok');
    assert.equal(await to('pending'), 'conflict');
    assert.equal(await to('unregistered'), 'ok');
    assert.equal(await to('unregistered'), 'ok');
  });

  it('releases what it recorded, for good: no version brings it back', async () => {
    const identity = {
      phone: { enabled: true, provider: 'telephony-provider' },
      card: { enabled: true, spendLimitUsd: 5 },
    };
    const { id } = await create('released', { identity });
    const number = '+15550777';
    await provision({ id, phone: { number, a2pStatus: 'pending' }, card: { cardRef: 'card_777' } });
    await provision({ id, phone: { a2pStatus: 'registered' } });
    const { revision } = await must('get_agent', { id });
    const half = await must('provision_agent_identity', { id, release: ['phone'], expectedRevision: revision });
    assert.deepEqual(half.identity.phone, {
      enabled: false,
      provider: 'telephony-provider',
      a2pStatus: 'unregistered',
    });
    assert.deepEqual(half.identity.card, { enabled: true, spendLimitUsd: 5, cardRef: '•••' });
    const whole = await must('provision_agent_identity', { id, release: ['phone', 'card'] });
    assert.deepEqual(whole.identity.card, { enabled: false, spendLimitUsd: 5 });
    const again = await must('provision_agent_identity', { id, release: ['phone', 'card'] });
    assert.equal(again.revision, whole.revision, 'a release of nothing changes nothing');
    const { body: versions } = await asAdmin('GET', `/api/v1/versions/agent/${id}`);
    for (const { id: versionId } of versions.data) {
      const restore = { entityType: 'agent', entityId: id, versionId };
      await must('restore_version', restore);
      const { phone, card } = (await server.store.agents.get(id))?.identity ?? {};
      assert.deepEqual([phone?.number, phone?.a2pStatus, card?.cardRef], [undefined, 'unregistered', undefined]);
    }
    const audit = await must('list_audit_entries', { tool: 'provision_agent_identity', limit: 100 });
    assert.ok(JSON.stringify(audit.data).includes('"release":["phone","card"]'));
    assert.ok(!JSON.stringify([audit, versions]).includes(number));
    const swapped = { id, release: ['phone'], phone: { number: '+15550778', a2pStatus: 'pending' } };
    const next = await must('provision_agent_identity', swapped);
    assert.equal(next.identity.phone.a2pStatus, 'pending');
  });

  it('releases nothing where there is nothing', async () => {
    const made = await create('bare');
    const released = await must('provision_agent_identity', { id: made.id, release: ['phone', 'card'] });
    assert.deepEqual([released.identity, released.revision], [undefined, made.revision]);
  });

  it('needs phone or card, and an agent that is not deleted', async () => {
    const { id } = await create('unprovisioned');
    assert.ok('error' in (await provision({ id })));
    await asAdmin('DELETE', `/api/v1/agents/${id}`);
    const answer = await provision({ id, phone: { number: '1' } });
    assert.equal('error' in answer && answer.error.code, 'conflict');
  });
});

describe('list_models, list_tool_categories', () => {
  it('lists the built-in model', async () => {
    const { body } = await asAdmin('GET', '/api/v1/agents/models');
    assert.deepEqual(pluck(body.data, 'id'), ['offline/rehearsal']);
  });

  it('shows each caller its own tools', async () => {
    const key = await makeKey(server, { scopes: ['agents:read'] });
    const { body } = await rest(server, 'GET', '/api/v1/agents/tools', { key });
    const names = body.data.flatMap(({ tools }: { tools: { name: string }[] }) => tools.map(({ name }) => name));
    assert.ok(names.includes('get_agent'));
    assert.equal(names.includes('create_agent'), false);
    assert.equal(names.includes('get_mcp_status'), false);
  });
});
