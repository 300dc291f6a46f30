import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { callTool, mustCall } from '../support/calls.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { inputFor } from './inputs.ts';

const lists = catalog.entries.map(({ tool }) => tool).filter(({ input }) => 'cursor' in input.shape);

let server: TestServer;
const cursors: Record<string, string> = {};

before(async () => {
  server = await startTestServer();
  for (let at = 0; at < 2; at += 1) {
    await mustCall(server, server.adminKey, 'create_agent', { name: `a${at}`, displayName: 'A' });
    await mustCall(server, server.adminKey, 'create_goal', { title: 'g' });
    await mustCall(server, server.adminKey, 'create_database', { name: 'd', columns: [{ name: 'a', type: 'string' }] });
    await mustCall(server, server.adminKey, 'create_report', { title: 'r', query: { tool: 'list_agents' } });
  }
  for (const list of ['list_agents', 'list_goals', 'list_databases', 'list_reports']) {
    cursors[list] = (await mustCall(server, server.adminKey, list, { limit: 1 })).nextCursor;
  }
});
after(() => server.close());

describe('a cursor', () => {
  for (const { name } of lists) {
    it(`of another list is refused by ${name}`, async () => {
      for (const [list, cursor] of Object.entries(cursors)) {
        const answer = await callTool(server, server.adminKey, name, { ...inputFor(name), cursor });
        if (list === name) assert.ok('output' in answer, `${name} takes its own`);
        else {
          assert.ok('error' in answer, `${name} took a cursor of ${list}`);
          assert.deepEqual([answer.error.code, answer.error.issues?.[0]?.path], ['invalid_input', 'cursor']);
        }
      }
    });
  }
});
