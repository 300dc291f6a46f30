import assert from 'node:assert/strict';
import { it } from 'node:test';
import { WaitingTurns } from '../../tools/chat/waiting-turns.ts';
import { beginRun } from '../../tools/runs/run-records.ts';
import { openTestRegistry, principalOf, registryOn } from '../support/registry.ts';

const { store, registry } = await openTestRegistry();

it('many decisions while it looks at the runs that wait have it look once more, not once each', async () => {
  const principal = principalOf({ type: 'api-key', id: 'key_a', scopes: ['*'] });
  const asking = { principal, door: 'mcp', requestId: 'test', server: registry.server, repeat: undefined } as const;
  await store.transaction(async (tx) => {
    const { id } = await beginRun(tx, { kind: 'invoke', agent: undefined, model: 'tiny' }, asking);
    const waitsFor = [{ approvalId: 'apv_gone', toolCallId: 'call', tool: 'create_skill' }];
    await tx.agentRuns.update(id, { status: 'waiting', waitsFor });
  });
  let looks = Number.NaN; // at the one run that waits
  let others: Promise<void>[] = [];
  const now = () => {
    looks += 1;
    if (looks === 2) others = Array.from({ length: 50 }, () => turns.look());
    return new Date();
  };
  const other = registryOn(store, { now, startedAt: new Date() });
  looks = 1;
  const turns = new WaitingTurns({ store, registry: other.registry, onFailure: (cause) => assert.fail(String(cause)) });
  await turns.look();
  await Promise.all(others);
  assert.equal(looks, 3);
  await turns.look();
  assert.equal(looks, 4);
  await turns.close();
});
