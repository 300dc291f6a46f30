import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Rights } from '../../tools/core/access/rights.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const registry = await openTestRegistry();

/** A caller, and how often its rights to a tool were judged. */
function counted(scopes: readonly string[]) {
  const principal = principalOf({ type: 'api-key', id: 'key_1', scopes });
  let judged = 0;
  const mayTry: Rights['mayTry'] = (requirement) => {
    judged += 1;
    return principal.rights.mayTry(requirement);
  };
  return { principal: { ...principal, rights: { ...principal.rights, mayTry } }, judged: () => judged };
}

describe('list_tool_categories', () => {
  it('names the tools that tools/list shows, without judging the right to each of them again', async () => {
    const { principal, judged } = counted(['read', 'reports:write']);
    const ask = async () => {
      const answer = await registry.call(principal, 'list_tool_categories');
      const { data } = 'output' in answer ? answer.output : assert.fail();
      return (data as { category: string; tools: { name: string }[] }[]).flatMap(({ tools }) => tools); // as declared
    };
    const names = (await ask()).map(({ name }) => name);
    assert.ok(names.includes('create_report') && names.includes('list_agents'));
    assert.ok(!names.includes('create_agent') && !names.includes('get_mcp_status'));
    const before = judged();
    assert.equal((await ask()).length, names.length);
    assert.ok(judged() - before < 5, `${judged() - before} judgements`);
  });
});
