import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as round } from 'node:timers/promises';
import { warningsOf } from '../../tools/capsules/verdicts.ts';
import { catalog as tools } from '../../tools/catalog.ts';
import { firstExceeding } from '../../tools/core/access/allowlist.ts';
import { indexCatalog } from '../../tools/core/registry/catalog-index.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

const admin = principalOf({ type: 'api-key', id: 'key_1', scopes: ['*'] });

describe('the entries of an allowlist', () => {
  let judged = 0;
  /** Its tools count how often it is asked what they stand for, which judging them begins with. */
  const catalog = indexCatalog(
    tools.entries.map(({ group, tool }) => ({
      group,
      tool: new Proxy(tool, {
        get(target, name) {
          if (name === 'actsAs') judged += 1;
          return Reflect.get(target, name);
        },
      }),
    })),
  );
  const limited = principalOf({ type: 'api-key', id: 'key_2', grants: ['agent:read'] });

  function workFor(allowedTools: string[]): number {
    judged = 0;
    warningsOf({ name: 'c', allowedTools, deniedTools: [] }, catalog);
    firstExceeding(allowedTools, catalog, admin);
    firstExceeding(allowedTools, catalog, limited);
    return judged;
  }

  it('cause each tool to be judged once, however many match it', () => {
    const globs = Array.from({ length: 500 }, (_, at) => `${'*'.repeat(1 + (at % 25))}_${'*'.repeat(1 + (at % 20))}`);
    const once = workFor(['*_*']);
    assert.ok(once > 0);
    assert.ok(workFor(globs) <= once, `${judged} ${once}`);
  });

  it('are compared with all names only as long as the hints are of use', () => {
    const near = Array.from({ length: 500 }, (_, at) => `list_agentz${at}`);
    const warnings = warningsOf({ name: 'c', allowedTools: near, deniedTools: [] }, catalog);
    assert.equal(warnings.length, 500);
    assert.equal(warnings.filter((text) => text.includes('similar names: list_agents')).length, 20);
  });
});

describe('the conditions of a flow', () => {
  const definition = (when: string) => ({
    name: 'conditions',
    trigger: { kind: 'manual' },
    steps: Array.from({ length: 100 }, (_, at) => ({ id: `s${at}`, tool: at < 99 ? 'list_agents' : 'none', when })),
  });

  it('are read while other calls run', async () => {
    const { registry, close } = await openTestRegistry();
    const input = definition(`input.a == 1${' || input.a == 1'.repeat(124)}`);
    let isDone = false;
    const call = registry
      .call({ principal: admin, tool: 'create_flow', input, door: 'mcp', requestId: 'r' })
      .finally(() => {
        isDone = true;
      });
    let rounds = 0;
    for (; !isDone; rounds += 1) await round();
    const answer = await call;
    assert.ok(!answer.ok && answer.error.issues?.length === 1);
    assert.ok(rounds >= 20, `${rounds}`);
    await close();
  });

  it('have one problem told of each, as it names every step', async () => {
    const { registry, close } = await openTestRegistry();
    const input = definition(`steps.none.output == 1${' || steps.none.output == 1'.repeat(70)}`);
    const answer = await registry.call({ principal: admin, tool: 'create_flow', input, door: 'mcp', requestId: 'r' });
    assert.ok(!answer.ok);
    assert.equal(answer.error.issues?.length, 100);
    assert.match(answer.error.error, /\(and 99 more, see issues\)|\(and 100 more/);
    await close();
  });
});

describe('the bot config', () => {
  it('has no more text than any model reads', async () => {
    const { call, close } = await openTestRegistry();
    const update = (length: number) =>
      call(admin, 'update_bot_config', {
        promptSections: Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`s${at}`, 'x'.repeat(length)])),
      });
    const refused = await update(50_001);
    assert.equal('error' in refused && refused.error.code, 'invalid_input');
    assert.match(JSON.stringify(refused), /promptSections: Has too much text; give at most 500000 characters in all/);
    assert.ok('output' in (await update(50_000)));
    await close();
  });
});
