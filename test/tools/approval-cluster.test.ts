import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { defineTool } from '../../tools/core/registry/define-tool.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { ApprovalWorld, catalogWith } from '../support/approval-world.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { storeAt, testDatabase, withoutPostgres } from '../support/postgres.ts';
import { registryOn } from '../support/registry.ts';
import { testTool } from '../support/test-tool.ts';
import { until } from '../support/until.ts';

let count = 0;
const counts = defineTool({
  ...testTool,
  name: 'counts',
  async handler() {
    count += 1;
    return { ok: true };
  },
});

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Three servers on one database, each with a connection, a cache and a runner of its own, as in a process of its own. */
async function three(): Promise<[ApprovalWorld, ApprovalWorld, ApprovalWorld]> {
  count = 0;
  const { url } = await testDatabase();
  const worlds: ApprovalWorld[] = [];
  for (let at = 0; at < 3; at += 1) {
    const store = await storeAt(url);
    if (at === 0) await prepareSettings(store);
    const world = new ApprovalWorld(store, registryOn(store, { catalog: catalogWith([counts]) }));
    const calls = world.calls().start();
    closing.push(
      closedAtEnd(async () => {
        await calls.close();
        await store.close();
      }),
    );
    worlds.push(world);
  }
  return worlds as [ApprovalWorld, ApprovalWorld, ApprovalWorld]; // three were opened
}

describe('approved calls of three processes', { skip: withoutPostgres }, () => {
  it('run once, whichever of them decides, runs and is asked again', async () => {
    const [first, second, third] = await three();
    const anna = await first.person('anna');
    const bert = await first.person('bert');
    const key = await first.key(anna, { askFirst: ['counts'] });
    const id = await first.asked(key, 'counts', {});
    await second.approve(bert, id);
    const said = await Promise.all([first, second, third].map((world) => world.registry.codeOf(key, 'counts', {})));
    assert.ok(
      said.every((code) => ['ok', 'conflict'].includes(code)),
      said.join(),
    );
    await until(async () => (await third.store.approvals.read(id)).status === 'done');
    for (const world of [first, second, third]) {
      // Whoever ran it gives its key up a moment after it is done.
      await until(async () => (await world.registry.codeOf(key, 'counts', {})) === 'ok');
      assert.deepEqual(await world.registry.must(key, 'counts', {}), { ok: true });
    }
    assert.equal(count, 1);
  });

  it('are one approval where equal calls come at once, and are decided once', async () => {
    const worlds = await three();
    const [first] = worlds;
    const anna = await first.person('anna');
    const deciders = [await first.person('bert'), await first.person('carl'), await first.person('dora')];
    const key = await first.key(anna, { askFirst: ['counts'] });
    const ids = await Promise.all(worlds.map((world) => world.asked(key, 'counts', {})));
    assert.equal(new Set(ids).size, 1);
    const codes = await Promise.all(
      worlds.map((world, at) =>
        world.registry.codeOf(deciders[at] ?? anna, 'decide_approval', {
          id: ids[0],
          decision: at === 1 ? 'reject' : 'approve',
        }),
      ),
    );
    assert.deepEqual(codes.sort(), ['conflict', 'conflict', 'ok']);
    await until(async () => ['done', 'rejected'].includes((await first.store.approvals.read(ids[0] ?? '')).status));
    assert.ok(count <= 1);
  });
});
