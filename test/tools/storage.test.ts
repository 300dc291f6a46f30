import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type StorageLimits, StorageMeter } from '../../tools/usage/storage-meter.ts';
import { storageAlerts } from '../../tools/webhooks/alert-sources.ts';
import { callTool, outcomeOf } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { openTestRegistry, principalOf, registryOn } from '../support/registry.ts';
import { startTestServer } from '../support/server.ts';
import { openStoreIn } from '../support/store.ts';
import { writing } from '../support/writing.ts';

const KB = 1024;
const ann = principalOf({ type: 'api-key', id: 'key_ann', scopes: ['*'] });
const bob = principalOf({ type: 'api-key', id: 'key_bob', scopes: ['*'] });

/** A process with these limits on a store. */
function processOn(store: Awaited<ReturnType<typeof openTestRegistry>>['store'], limits: StorageLimits) {
  const storage = new StorageMeter(store, limits);
  const { call } = registryOn(store, { storage });
  const keep = (principal: typeof ann, kilobytes: number) =>
    call(principal, 'create_artifact', { name: 'a', mimeType: 'text/plain', content: 'x'.repeat(kilobytes * KB) });
  return { storage, call, keep };
}

async function worldWith(limits: Partial<StorageLimits>) {
  const world = await openTestRegistry();
  return { ...world, ...processOn(world.store, { workspace: 0, caller: 0, ...limits }) };
}

/** The output of a call, whose schema says what is in it. */
const outputOf = <Output>(answer: object) => ('output' in answer ? (answer.output as Output) : assert.fail());
const idOf = (answer: object) => outputOf<{ id: string }>(answer).id;

describe('a quota of storage', () => {
  it('refuses what would be more, of this caller alone, and names the limit, what is used and what to do', async () => {
    const { keep } = await worldWith({ caller: 100 * KB });
    for (const expected of ['ok', 'ok', 'too_large']) assert.equal(outcomeOf(await keep(ann, 45)), expected);
    const refused = await keep(ann, 45);
    const text = 'error' in refused ? refused.error.error : '';
    for (const part of ['key_ann', '0.09 of 0.10 MB', 'purge_record', 'STORAGE_LIMIT_PER_CALLER_MB'])
      assert.ok(text.includes(part), text);
    assert.equal(outcomeOf(await keep(ann, 1)), 'ok', 'what fits is kept');
    assert.equal(outcomeOf(await keep(bob, 45)), 'ok');
  });

  it('holds for the workspace', async () => {
    const { keep } = await worldWith({ workspace: 100 * KB });
    assert.equal(outcomeOf(await keep(ann, 60)), 'ok');
    const refused = await keep(bob, 60);
    assert.equal(outcomeOf(refused), 'too_large');
    assert.match('error' in refused ? refused.error.error : '', /this workspace.*STORAGE_LIMIT_MB/);
  });

  it('counts earlier states and what was deleted, until it is purged', async () => {
    const { keep, call } = await worldWith({ caller: 100 * KB });
    const id = idOf(await keep(ann, 30));
    assert.equal(outcomeOf(await call(ann, 'update_artifact', { id, content: 'y'.repeat(30 * KB) })), 'ok');
    assert.equal(outcomeOf(await call(ann, 'delete_artifact', { id })), 'ok');
    assert.equal(outcomeOf(await keep(ann, 30)), 'too_large');
    assert.equal(outcomeOf(await call(ann, 'purge_record', { entityType: 'artifact', id })), 'ok');
    assert.equal(outcomeOf(await keep(ann, 30)), 'ok');
  });

  it('lets callers delete, and stop agents, where it is full', async () => {
    const { keep, call } = await worldWith({ caller: 40 * KB });
    const agent = await call(ann, 'create_agent', { name: 'ada', displayName: 'Ada' });
    const id = idOf(await keep(ann, 38));
    assert.equal(outcomeOf(await keep(ann, 2)), 'too_large');
    assert.equal(outcomeOf(await call(ann, 'delete_artifact', { id })), 'ok');
    assert.equal(outcomeOf(await call(ann, 'update_agent', { id: idOf(agent), status: 'paused' })), 'ok');
  });

  it('counts documents, task documents and memories too', async () => {
    const { call } = await worldWith({ caller: 20 * KB });
    const content = 'x'.repeat(19 * KB);
    const task = idOf(await call(ann, 'create_task', { title: 'T' }));
    assert.equal(outcomeOf(await call(ann, 'create_document', { title: 'D', content })), 'ok');
    assert.equal(outcomeOf(await call(ann, 'create_document', { title: 'D', content })), 'too_large');
    assert.equal(outcomeOf(await call(ann, 'update_task_document', { id: task, content })), 'too_large');
    assert.equal(outcomeOf(await call(ann, 'create_memory', { content: 'm'.repeat(3 * KB) })), 'too_large');
  });

  it('counts an agent and a flow for whom they act for', async () => {
    const { keep, storage } = await worldWith({ caller: 100 * KB });
    const agent = { ...principalOf({ type: 'agent', id: 'agt_1', scopes: ['*'] }), actsFor: ann };
    const flow = { ...principalOf({ type: 'flow', id: 'flw_1', scopes: ['*'] }), actsFor: agent };
    assert.equal(outcomeOf(await keep(agent, 60)), 'ok');
    assert.equal(outcomeOf(await keep(flow, 60)), 'too_large');
    assert.equal(outcomeOf(await keep(bob, 95)), 'ok');
    assert.deepEqual(pluck((await storage.state()).nearlyFull, 'id'), ['key_bob']);
  });

  it('is not passed by calls that come at once', async () => {
    const { keep, storage } = await worldWith({ caller: 100 * KB });
    const answers = await Promise.all(Array.from({ length: 20 }, () => keep(ann, 20)));
    const kept = answers.filter((answer) => outcomeOf(answer) === 'ok').length;
    assert.ok(kept >= 1 && kept <= 4, `${kept} were kept`);
    assert.ok((await storage.state()).usedBytes <= 100 * KB);
    for (let more = kept; more < 4; more += 1)
      assert.equal(outcomeOf(await keep(ann, 20)), 'ok', 'nothing is lost to refused calls');
    assert.equal(outcomeOf(await keep(ann, 20)), 'too_large');
  });

  it('is the same after a restart, and for versions that note no size', async () => {
    const { keep, store, folder, storage } = await worldWith({ caller: 100 * KB });
    assert.equal(outcomeOf(await keep(ann, 60)), 'ok');
    const payload = { name: 'ä', content: 'z'.repeat(10 * KB) };
    await writing(store).versions.insert({
      ...{ entityType: 'document', entityId: 'doc_old', revision: 1, kind: 'snapshot', payload },
      ...{ contentHash: 'x'.repeat(64), author: { type: 'api-key', id: 'key_ann', name: 'Ann' } },
    });
    const before = await storage.state();
    assert.equal(
      before.kinds.find(({ type }) => type === 'document')?.bytes,
      Buffer.byteLength(JSON.stringify(payload)),
    );
    await store.close();
    const again = await openStoreIn(folder);
    const later = processOn(again, { workspace: 0, caller: 100 * KB });
    assert.deepEqual(await later.storage.state(), before);
    assert.equal(outcomeOf(await later.keep(ann, 60)), 'too_large');
    await again.close();
  });

  it('shows in the health and as an alert from nine tenths on', async () => {
    const { keep, call, storage, store } = await worldWith({ workspace: 100 * KB, caller: 60 * KB });
    const health = async () => outputOf<Health>(await call(ann, 'get_system_health'));
    const empty = await health();
    assert.equal(empty.overallStatus, 'ok');
    assert.equal(empty.storage.limitBytes, 100 * KB);
    assert.equal(outcomeOf(await keep(ann, 56)), 'ok');
    assert.equal(outcomeOf(await keep(bob, 36)), 'ok');
    const output = await health();
    assert.equal(output.overallStatus, 'degraded');
    assert.deepEqual(pluck((await storage.state()).nearlyFull, 'id'), ['workspace', 'key_ann']);
    assert.ok(output.storage.share >= 0.9 && output.storage.share <= 1);
    assert.ok(output.storage.kinds.some(({ type, bytes }) => type === 'artifact' && bytes > 92 * KB));
    const found = output.integrations.find(({ name }) => name === 'storage');
    assert.match(found?.lastError ?? '', /this workspace .* key_ann/);
    assert.doesNotMatch(found?.lastError ?? '', /callers/);
    const reader = principalOf({ type: 'api-key', id: 'key_reader', scopes: ['agents:read'] });
    const less = await call(reader, 'get_system_health');
    assert.doesNotMatch(JSON.stringify(less), /key_ann/);
    const checked = outputOf<{ status: string; problems: string[] }>(await call(ann, 'check_health'));
    assert.equal(checked.status, 'degraded');
    assert.match(checked.problems.join(), /this workspace/);
    const alerts = await storageAlerts(store, storage).look(new Date());
    assert.deepEqual(alerts.map(({ type, id }) => [type, id]).sort(), [
      ['storage.nearly_full', 'key_ann'],
      ['storage.nearly_full', 'workspace'],
    ]);
  });

  it('is set by the environment', async () => {
    const server = await startTestServer({ STORAGE_LIMIT_PER_CALLER_MB: '0.05' });
    const content = 'x'.repeat(30 * KB);
    const input = { name: 'a', mimeType: 'text/plain', content };
    assert.equal(outcomeOf(await callTool(server, server.adminKey, 'create_artifact', input)), 'ok');
    assert.equal(outcomeOf(await callTool(server, server.adminKey, 'create_artifact', input)), 'too_large');
  });
});

interface Health {
  readonly overallStatus: string;
  readonly storage: {
    readonly limitBytes: number;
    readonly share: number;
    readonly kinds: { type: string; bytes: number }[];
  };
  readonly integrations: { readonly name: string; readonly lastError?: string }[];
}
