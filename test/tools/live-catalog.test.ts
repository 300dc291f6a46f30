import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { catalog } from '../../tools/catalog.ts';
import { allowlistWarnings, matchEntry } from '../../tools/core/access/allowlist.ts';
import { type CatalogEntry, indexCatalog, LiveCatalog } from '../../tools/core/registry/catalog-index.ts';
import { defineTool, READS } from '../../tools/core/registry/define-tool.ts';
import { openTestRegistry, principalOf } from '../support/registry.ts';

describe('a live catalog', () => {
  it('shows own tools first, then those of each source, and finds all by name', () => {
    const live = new LiveCatalog(indexCatalog([guest('own', 'first')]));
    const [late, early] = [guest('b', 'x'), guest('a', 'x')];
    live.put('b', [late]);
    live.put('a', [early]);
    assert.deepEqual(
      live.entries.map(({ tool }) => tool.name),
      ['own__first', 'a__x', 'b__x'],
    );
    assert.equal(live.get('b__x'), late);
    live.put('b', []);
    assert.equal(live.get('b__x'), undefined);
    assert.equal(live.entries.length, 2);
  });

  it('calls its listeners for each change and for nothing else', () => {
    const live = new LiveCatalog(indexCatalog([]));
    let changes = 0;
    live.onChange(() => {
      changes += 1;
    });
    const entry = guest('a', 'x');
    const before = live.entries;
    live.put('a', [entry]);
    live.put('a', [entry]);
    live.put('b', []);
    assert.deepEqual([changes, live.version], [1, 1]);
    assert.notEqual(live.entries, before);
    live.put('a', [guest('a', 'x')]);
    assert.deepEqual([changes, live.version], [2, 2]);
  });

  it('takes no name twice, and then keeps what it had', () => {
    const live = new LiveCatalog(indexCatalog([guest('own', 'first')]));
    live.put('a', [guest('a', 'x')]);
    assert.throws(() => live.put('b', [guest('b', 'y'), guest('a', 'x')]), /has a name/);
    assert.throws(() => live.put('b', [guest('own', 'first')]), /has a name/);
    assert.throws(() => live.put('b', [guest('b', 'y'), guest('b', 'y')]), /has a name/);
    assert.deepEqual([live.version, live.entries.length], [1, 2]);
  });
});

describe('a tool that comes while the server runs', () => {
  it('is listed, matched by allowlists, callable and categorised, until it goes', async () => {
    const live = new LiveCatalog(catalog);
    const registry = await openTestRegistry(undefined, live);
    const all = principalOf({ type: 'session', id: 'usr_1', scopes: ['*'] });
    const before = registry.registry.list(all);
    assert.equal(registry.registry.list(all), before);
    live.put('gh', [guest('gh', 'find')]);
    assert.deepEqual(
      registry.registry.list(all).filter((entry) => !before.includes(entry)),
      [live.get('gh__find')],
    );
    for (const entry of ['gh__find', 'gh__*', '*__fi*']) {
      assert.deepEqual(matchEntry(entry, live), [live.get('gh__find')], entry);
    }
    for (const entry of ['*', 'g*', '*find']) {
      assert.ok(!matchEntry(entry, live).some(({ tool }) => tool.name === 'gh__find'), entry);
    }
    assert.deepEqual(allowlistWarnings(['gh__find'], live), []);
    assert.ok('output' in (await registry.call(all, 'gh__find', {})));
    const { output } = (await registry.call(all, 'list_tool_categories')) as { output: { data: unknown[] } };
    assert.match(JSON.stringify(output.data), /gh__find/);
    live.put('gh', []);
    assert.deepEqual(registry.registry.list(all), before);
    assert.equal(await registry.codeOf(all, 'gh__find', {}), 'not_found');
  });

  it('is seen by those alone who hold a scope, or a grant for that very tool', async () => {
    const live = new LiveCatalog(catalog);
    live.put('gh', [guest('gh', 'find'), guest('gh', 'drop')]);
    const registry = await openTestRegistry(undefined, live);
    const seen = (grants: string[] | undefined, scopes: string[] = []) => {
      const principal = principalOf({ type: 'api-key', id: 'key_1', scopes, ...(grants && { grants }) });
      return registry.registry.list(principal).flatMap(({ tool }) => (tool.name.startsWith('gh__') ? tool.name : []));
    };
    assert.deepEqual(seen(['tool:call:gh/find']), ['gh__find']);
    assert.deepEqual(seen(['tool:call:gh']), []);
    assert.deepEqual(seen(['tool:call:gh/*']), ['gh__find', 'gh__drop']);
    assert.deepEqual(seen(['tool:call:g/*', 'tool:call:find/*']), []);
    assert.deepEqual(seen(['tool:call']), ['gh__find', 'gh__drop']);
    assert.deepEqual(seen(['tool:read']), []);
    assert.deepEqual(seen(undefined, ['tools:write']), ['gh__find', 'gh__drop']);
    assert.deepEqual(seen(undefined, ['read']), []);
    const limited = principalOf({ type: 'api-key', id: 'key_1', grants: ['tool:call:gh/find'] });
    assert.ok('output' in (await registry.call(limited, 'gh__find')));
    const refused = await registry.refused(limited, 'gh__drop');
    assert.deepEqual(refused.required, { scope: 'tools:write', grant: 'tool:call:gh/drop' });
  });
});

describe('an allowlist entry for tools that are not there yet', () => {
  it('is taken from those alone who may call whatever comes', async () => {
    const registry = await openTestRegistry();
    const make = async (grants: string[], entry: string) => {
      const principal = principalOf({ type: 'api-key', id: 'key_1', grants: ['agent:write', ...grants] });
      const input = { name: `a ${grants} ${entry}`, displayName: 'A', tools: [entry] };
      const answer = await registry.call(principal, 'create_agent', input);
      return 'error' in answer ? answer.error.required?.grant : 'made';
    };
    assert.equal(await make(['agent:read'], 'gh__find'), 'tool:call:gh/find');
    assert.equal(await make(['tool:call:gh/find'], 'gh__find'), 'made');
    assert.equal(await make(['tool:call:gh/find'], 'gh__*'), 'tool:call:gh/*');
    assert.equal(await make(['tool:call:gh/*'], 'gh__*'), 'made');
    assert.equal(await make(['tool:call:gh/*'], 'gh__f*'), 'made');
    assert.equal(await make(['tool:call:gh/*'], 'gh__later'), 'made');
    assert.equal(await make(['tool:call:gh/*'], 'gl__*'), 'tool:call:gl/*');
    assert.equal(await make(['tool:call:gh/*'], 'gh*__find'), 'tool:call');
    assert.equal(await make(['tool:call'], 'gh__*'), 'made');
  });
});

function guest(prefix: string, name: string): CatalogEntry {
  const tool = defineTool({
    name: `${prefix}__${name}`,
    title: name,
    description: 'A tool of another server.',
    access: { scope: 'tools:write', grant: `tool:call:${prefix}/${name}` },
    annotations: READS,
    input: z.strictObject({}),
    output: z.object({}),
    errors: [],
    handler: async () => ({}),
  });
  return { group: prefix, tool };
}
