import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey, rest } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';
import { writing } from '../support/writing.ts';

const server = await startTestServer();
const { must } = callsOf(server);

const ask = (method: string, path: string, body?: unknown, key = server.adminKey, requestId = 'r-1') =>
  rest(server, method, `/api/v1/reports${path}`, { key, body, headers: { 'X-Request-Id': requestId } });

async function reportOf(query: object, more: object = {}) {
  const { status, body } = await ask('POST', '', { title: 'A report', query, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const render = (id: string, key?: string, requestId?: string) =>
  ask('GET', `/${id}?render=true`, undefined, key, requestId);

describe('reports', () => {
  it('keep arguments as they were given, whatever they are', async () => {
    const args = { entityType: 'agent', entityId: 'agt_ö "quoted"', limit: 1 };
    const report = await reportOf({ tool: 'list_versions', arguments: args });
    assert.deepEqual((await ask('GET', `/${report.id}`)).body.query.arguments, args);
  });

  it('hold no more arguments than a list can show, and titles that can be seen', async () => {
    const database = await must('create_database', { name: 'd', columns: [{ name: 'T', type: 'string' }] });
    const query = (length: number) => ({
      tool: 'list_records',
      arguments: { databaseId: database.id, filter: { T: 'x'.repeat(length) } },
    });
    const refused = await ask('POST', '', { title: 'large', query: query(30_000) });
    assert.deepEqual([refused.status, refused.body.issues[0].path], [400, 'query.arguments']);
    await reportOf(query(19_000));
    for (const title of ['bell\u0007', 'back\u202eward', '\u200b']) {
      const { status, body } = await ask('POST', '', { title, query: { tool: 'list_skills' } });
      assert.deepEqual([status, body.issues[0].path], [400, 'title']);
    }
  });

  it('are listed by tool and by text, page by page', async () => {
    const query = { tool: 'list_goals' };
    const titles = ['Goals of MAY', 'Goals', 'Other'];
    for (const title of titles) await reportOf(query, { title, ...(title === 'Other' && { description: 'of may' }) });
    const listed = async (path: string) => (await ask('GET', path)).body;
    const found = async (path: string) => pluck((await listed(path)).data, 'title');
    assert.deepEqual(await found('?tool=list_goals'), titles.toReversed());
    assert.deepEqual(await found('?tool=list_goals&q=of%20May'), ['Other', 'Goals of MAY']);
    assert.deepEqual(await found('?tool=list_goal'), []);
    const first = await listed('?tool=list_goals&limit=2&includeTotal=true');
    assert.deepEqual([first.total, first.data.length], [3, 2]);
    assert.deepEqual(await found(`?tool=list_goals&limit=2&cursor=${first.nextCursor}`), ['Goals of MAY']);
    assert.equal((await ask('GET', `?limit=2&cursor=${first.nextCursor}`)).status, 400);
    const key = await makeKey(server, { grants: [`report:read:${first.data[0].id}`] });
    const { body } = await ask('GET', '?tool=list_goals&includeTotal=true', undefined, key);
    assert.deepEqual([body.data.length, body.total], [1, 1]);
  });

  it('are listed and read as far as a grant names them', async () => {
    const report = await reportOf({ tool: 'list_skills' });
    await reportOf({ tool: 'list_skills' });
    const key = await makeKey(server, { grants: [`report:read:${report.id}`] });
    assert.deepEqual((await ask('GET', '', undefined, key)).body.data, [report]);
    assert.equal((await ask('DELETE', `/${report.id}`, undefined, key)).status, 403);
  });
});

describe('the query of a report', () => {
  for (const [name, query, path] of [
    ['an unknown tool', { tool: 'list_skill' }, 'query.tool'],
    ['a tool that writes', { tool: 'delete_agent', arguments: { id: 'x' } }, 'query.tool'],
    ['a door-only tool', { tool: 'get_mcp_status' }, 'query.tool'],
    ['a report that shows a report', { tool: 'get_report', arguments: { id: 'x', render: true } }, 'query.tool'],
    ['arguments out of range', { tool: 'list_agents', arguments: { limit: 0 } }, 'query.arguments.limit'],
    ['unknown arguments', { tool: 'list_agents', arguments: { stat: 'paused' } }, 'query.arguments.stat'],
    ['missing arguments', { tool: 'get_agent' }, 'query.arguments.id'],
    ['members that are none', { tool: 'list_agents', args: {} }, 'query.args'],
  ] as const) {
    it(`is refused for ${name}, on create and on update`, async () => {
      const created = await ask('POST', '', { title: 't', query });
      assert.deepEqual([created.status, created.body.issues[0].path], [400, path]);
      const { id } = await reportOf({ tool: 'list_skills' });
      assert.equal((await ask('PATCH', `/${id}`, { query })).status, 400);
    });
  }

  it('names the tools most like an unknown one', async () => {
    const { body } = await ask('POST', '', { title: 't', query: { tool: 'list_skill' } });
    assert.match(body.error, /There is no tool list_skill; name one that only reads, such as list_skills/);
  });

  it('is a tool that its writer may call, with these arguments', async () => {
    const agent = await must('create_agent', { name: 'shown', displayName: 's' });
    const key = await makeKey(server, { grants: ['report:write', `agent:read:${agent.id}`] });
    const mine = { title: 't', query: { tool: 'get_agent', arguments: { id: agent.id } } };
    assert.equal((await ask('POST', '', mine, key)).status, 201);
    const other = { title: 't', query: { tool: 'get_agent', arguments: { id: 'agt_other' } } };
    const refused = await ask('POST', '', other, key);
    assert.deepEqual(
      [refused.status, refused.body.error, refused.body.required],
      [403, 'Insufficient permissions', { scope: 'agents:read', grant: 'agent:read:agt_other' }],
    );
    const writer = await makeKey(server, { scopes: ['write'] });
    assert.equal((await ask('POST', '', { title: 't', query: { tool: 'list_api_keys' } }, writer)).status, 403);
  });
});

describe('get_report with render', () => {
  it('runs the query under the rights of whoever reads', async () => {
    const agents = [];
    for (const name of ['r1', 'r2']) {
      agents.push(await must('create_agent', { name, displayName: name }));
    }
    const report = await reportOf({ tool: 'list_agents', arguments: { limit: 2 } });
    const { status, body } = await render(report.id);
    assert.equal(status, 200);
    assert.deepEqual(pluck(body.result.data, 'id'), [agents[1].id, agents[0].id]);
    assert.ok(Date.parse(body.asOf) <= Date.now());
    const narrow = await makeKey(server, { grants: ['report:read', `agent:read:${agents[0].id}`] });
    assert.deepEqual(pluck((await render(report.id, narrow)).body.result.data, 'id'), [agents[0].id]);
    assert.equal('result' in (await ask('GET', `/${report.id}`)).body, false);
  });

  it('is forbidden to whoever may not call the tool, with the right that is missing', async () => {
    const report = await reportOf({ tool: 'list_api_keys' });
    const key = await makeKey(server, { scopes: ['read'] });
    const { status, body } = await render(report.id, key, 'render-denied');
    assert.deepEqual(
      [status, body.code, body.error, body.required],
      [403, 'forbidden', 'Insufficient permissions', { scope: 'admin', grant: 'key:read' }],
    );
    assert.equal(
      (await ask('GET', `/${report.id}`, undefined, key)).status,
      200,
      'the report itself is theirs to read',
    );
  });

  it('leaves an audit entry for the report and one for the tool, under the same request and door', async () => {
    const report = await reportOf({ tool: 'list_skills', arguments: { limit: 3 } });
    const forbidden = await reportOf({ tool: 'list_api_keys' });
    const key = await makeKey(server, { scopes: ['read'] });
    await render(report.id, key, 'render-ok');
    await render(forbidden.id, key, 'render-no');
    await server.store.audit.flush();
    const { records } = await server.store.audit.find({ limit: 1000 });
    const told = (requestId: string) =>
      records
        .filter((entry) => entry.requestId === requestId)
        .map(({ tool, outcome, door, arguments: args }) => [tool, outcome, door, args])
        .sort();
    assert.deepEqual(told('render-ok'), [
      ['get_report', 'ok', 'rest', { id: report.id, render: true }],
      ['list_skills', 'ok', 'rest', { limit: 3 }],
    ]);
    assert.deepEqual(told('render-no'), [
      ['get_report', 'denied', 'rest', { id: forbidden.id, render: true }],
      ['list_api_keys', 'denied', 'rest', {}],
    ]);
    const principals = new Set(
      records.filter((entry) => /^render-(ok|no)$/.test(entry.requestId)).map((entry) => entry.principal.id),
    );
    assert.equal(principals.size, 1);
  });

  it('says what is wrong where the query does not run any more', async () => {
    const agent = await must('create_skill', { name: 'gone soon' });
    const report = await reportOf({ tool: 'get_skill', arguments: { id: agent.id } });
    await must('delete_skill', { id: agent.id });
    const { status, body } = await render(report.id);
    assert.deepEqual([status, body.code, body.issues[0].path], [409, 'conflict', 'query']);
    assert.match(body.issues[0].message, /There is no skill/);
    await writing(server.store).reports.update(report.id, {
      query: { tool: 'delete_report', arguments: { id: report.id } },
    });
    const written = await render(report.id);
    assert.deepEqual([written.status, written.body.code], [403, 'forbidden'], 'a tool that writes is never run');
    assert.equal((await ask('GET', `/${report.id}`)).status, 200);
    await writing(server.store).reports.update(report.id, { query: { tool: 'get_mcp_status', arguments: {} } });
    assert.equal((await render(report.id)).status, 409, 'nor one that belongs to another door');
    await writing(server.store).reports.update(report.id, {
      query: { tool: 'get_report', arguments: { id: report.id, render: true } },
    });
    assert.equal((await render(report.id)).status, 409, 'nor itself without end');
  });

  it('works over MCP too', async () => {
    const report = await reportOf({ tool: 'list_models' });
    const answer = await must('get_report', { id: report.id, render: true });
    assert.deepEqual(answer.result, await must('list_models'));
  });
});
