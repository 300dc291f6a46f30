import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mustCall, rest } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { startModelServer } from '../support/model-server.ts';
import { onPostgres, openStoreIn } from '../support/store.ts';
import { until } from '../support/until.ts';

const key = `ak_chatcras_${'k'.repeat(40)}`;

it('kill -9 of a server in the middle of a run loses nothing that was said and done, marks the run failed, and the thread goes on', async () => {
  const provider = await startModelServer();
  await withFolder(async (folder) => {
    const env = { BOOTSTRAP_API_KEY: key, MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny', LOG_LEVEL: 'silent' };
    const server = await startProcess(folder, env);
    await mustCall(server, key, 'create_agent', { name: 'ada', displayName: 'Ada', tools: ['create_skill'] });
    const asked = new Promise<void>((resolve) => {
      provider.play(({ messages }) => {
        if (messages.at(-1)?.role === 'user') return { calls: [{ name: 'create_skill', arguments: { name: 'made' } }] };
        resolve();
        return 'hang';
      });
    });
    const call = { key, body: { message: 'Make it', agentId: 'ada' }, headers: { 'Idempotency-Key': 'once' } };
    const broken = rest(server, 'POST', '/api/v1/chat', call);
    const failed = assert.rejects(broken);
    await asked;
    await server.stop('SIGKILL');
    await failed;

    const again = await startProcess(folder, env);
    const turns = provider.requests.length;
    const repeated = () => rest(again, 'POST', '/api/v1/chat', call);
    let repeat = await repeated();
    // In a cluster, the key of a process that died is free some seconds later.
    const isHeld = () => onPostgres && /still running/.test(repeat.body.error);
    await until(async () => {
      if (isHeld()) repeat = await repeated();
      return !isHeld();
    });
    assert.deepEqual([repeat.status, provider.requests.length], [410, turns], JSON.stringify(repeat.body));
    assert.match(repeat.body.error, /was cut off/);
    const [thread] = (await mustCall(again, key, 'list_threads')).data;
    const { data } = await mustCall(again, key, 'list_messages', { id: thread.id, order: 'oldest' });
    const roles = data.map(({ role }: { role: string }) => role);
    assert.deepEqual(roles, ['user', 'assistant', 'tool']);
    assert.equal((await mustCall(again, key, 'list_skills', { name: 'made' })).data.length, 1);
    provider.play(({ messages }) => ({ text: `I was told ${messages.length - 1} things.` }));
    assert.equal(repeat.body.threadId, thread.id);
    const body = { continue: repeat.body.runId, threadId: thread.id };
    const answer = () => rest(again, 'POST', '/api/v1/chat', { key, body });
    let { body: said } = await answer();
    // In a cluster, a process that died counts as running for some seconds more.
    const isBusy = () => onPostgres && said.code === 'conflict';
    await until(async () => {
      if (isBusy()) said = (await answer()).body;
      return !isBusy();
    });
    assert.equal(said.message?.content, 'I was told 4 things.', JSON.stringify(said));
    await again.stop('SIGTERM');

    const store = await openStoreIn(folder);
    const { records } = await store.agentRuns.find({ limit: 10, order: 'oldest' });
    assert.deepEqual(
      records.map(({ status, error }) => [status, error?.message]),
      [
        ['failed', 'The server ended before the run did.'],
        ['succeeded', undefined],
      ],
    );
    await store.close();
  });
  await provider.close();
});
