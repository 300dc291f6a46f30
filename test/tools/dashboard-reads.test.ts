import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';

const server = await startTestServer();
const { must } = callsOf(server);
const key = await makeKey(server, { scopes: ['read'] });
const session = await signIn(server);

/** A call as the dashboard makes it. */
async function inDashboard(name: string, args: object): Promise<void> {
  const params = {
    ...{ name, arguments: args },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'dashboard', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  };
  const answer = await fetch(`${server.baseUrl}/api/v1/mcp`, {
    method: 'POST',
    headers: {
      ...{ 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', Cookie: session },
      ...{ 'Mcp-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name },
      ...{ 'X-Agent-Admin-Door': 'dashboard', Origin: server.baseUrl },
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

describe('what people only read in the dashboard', () => {
  it('is left out of the audit list and of usage where that is asked, and nothing else is', async () => {
    await inDashboard('list_skills', {});
    await inDashboard('list_skills', {});
    await inDashboard('create_skill', { name: 'brief', instructions: 'Be brief.' });
    await must('list_skills', {}, key);

    const listed = async (input: object) =>
      pluck((await must('list_audit_entries', { tool: 'list_skills', ...input })).data, 'door').sort();
    assert.deepEqual(await listed({}), ['dashboard', 'dashboard', 'mcp']);
    assert.deepEqual(await listed({ dashboardReads: true }), ['dashboard', 'dashboard', 'mcp']);
    assert.deepEqual(await listed({ dashboardReads: false }), ['mcp']);
    assert.deepEqual(await listed({ dashboardReads: false, door: 'dashboard' }), []);
    const made = await must('list_audit_entries', { tool: 'create_skill', dashboardReads: false, includeTotal: true });
    assert.deepEqual([made.total, made.data[0].door], [1, 'dashboard']);

    const calls = async (by: string, input: object = {}) => {
      const { rows, totals } = await must('get_usage', { by, ...input });
      const found = Object.fromEntries(rows.map((row: { key: string; calls: number }) => [row.key, row.calls]));
      return { found, totals: totals.calls };
    };
    const own = { dashboardReads: false };
    assert.deepEqual((await calls('tool')).found.list_skills, 3);
    const without = await calls('tool', own);
    assert.deepEqual([without.found.list_skills, without.found.create_skill], [1, 1]);
    const filter = { tool: 'list_skills' };
    assert.equal((await calls('tool', { filter })).totals, 3);
    assert.equal((await calls('tool', { ...own, filter })).totals, 1);
    assert.equal((await calls('key', { ...own, filter })).totals, 1);
    assert.deepEqual((await calls('user', { ...own, filter: { tool: 'create_skill' } })).totals, 1);
  });
});
