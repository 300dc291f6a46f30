import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recall } from '../../tools/agents/run/recall.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { startEmbeddingServer } from '../support/embedding-server.ts';
import { admin, openEmbeddingWorld } from '../support/embedding-world.ts';
import { principalOf } from '../support/registry.ts';
import { dataFolder, removeFolder } from '../support/store.ts';
import { until } from '../support/until.ts';

const provider = await startEmbeddingServer();
const folder = await dataFolder();
closedAtEnd(() => removeFolder(folder));
const world = await openEmbeddingWorld({ folder, baseUrl: provider.baseUrl });
const { must } = world;
const memoryPolicy = { remember: true, maxInjected: 3 };
const agent = await must('create_agent', { name: 'ada', displayName: 'Ada', tools: [], memoryPolicy });
const remember = (content: string, more: object = {}): Promise<{ id: string }> =>
  must('create_memory', { content, kind: 'fact', scope: 'workspace', ...more });

const puppy = await remember('The puppy sleeps at noon.');
const pinned = await remember('Always be polite.', { pinned: true });
const thread = await must('create_thread', { title: 'x', visibility: 'restricted', messages: [] });
const hidden = await remember('The pet of the board.', { scope: 'thread', threadId: thread.id });
const newest = [await remember('Lunch is at one.'), await remember('The office closes at six.')];
await until(world.isEmbedded);

const recalled = async (
  text: string,
  server = { semanticSearch: world.meaning as typeof world.meaning | undefined },
  caller = admin,
) => {
  const memories = await recall(world.store, { agent, caller, threadId: undefined, text, server });
  return memories.map(({ id }) => id);
};

describe('memories of a run', () => {
  it('are found by meaning, behind pinned ones and before the newest', async () => {
    assert.deepEqual(await recalled('What about the hound?'), [pinned.id, puppy.id, newest[1]?.id]);
  });

  it('are found by words alone without a model, and where it is away', async () => {
    const byNewness = [pinned.id, ...newest.map(({ id }) => id).reverse()];
    assert.deepEqual(await recalled('What about the hound?', { semanticSearch: undefined }), byNewness);
    provider.play(() => ({ status: 503 }));
    assert.deepEqual(await recalled('Where is my hound?'), byNewness);
    assert.deepEqual((await recalled('the puppy of mine')).slice(0, 2), [pinned.id, puppy.id]);
    provider.play(undefined);
  });

  it('say the same thing once', async () => {
    const again = await remember('Lunch is  at one.\n');
    assert.deepEqual(await recalled('zzxqj vvkpw'), [pinned.id, again.id, newest[1]?.id]);
    await must('delete_memory', { id: again.id });
  });

  it('are the newest where nothing is near', async () => {
    assert.deepEqual(await recalled('zzxqj vvkpw'), [pinned.id, ...newest.map(({ id }) => id).reverse()]);
  });

  it('are none that the caller may not read, however near', async () => {
    const reader = principalOf({ type: 'api-key', id: 'key_reader', scopes: ['memory:read'] });
    const own = principalOf({ type: 'api-key', id: 'key_own', scopes: [] });
    assert.ok(!(await recalled('the hound', undefined, reader)).includes(hidden.id));
    assert.deepEqual(await recalled('the hound', undefined, own), []);
  });
});
