import assert from 'node:assert/strict';
import { it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { callTool } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { inputFor } from './inputs.ts';

const server = serverForTests();

it('a call about a record that is not there is answered with the tool that shows those there are', async () => {
  const names = new Set(catalog.entries.filter(({ tool }) => !tool.doorOnly).map(({ tool }) => tool.name));
  for (const { tool } of catalog.entries) {
    if (tool.doorOnly || !tool.errors.includes('not_found')) continue;
    const answer = await callTool(server, server.adminKey, tool.name, inputFor(tool.name));
    if (!('error' in answer) || answer.error.code !== 'not_found') continue;
    const { error } = answer;
    const told = error.error.match(/\b[a-z]+(_[a-z]+)+\b/g)?.filter((name) => names.has(name)) ?? [];
    assert.ok(told.length > 0 || error.error.includes('check type and id'), `${tool.name}: ${error.error}`);
  }
});
