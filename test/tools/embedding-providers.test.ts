import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { startEmbeddingServer } from '../support/embedding-server.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const [first, second] = await Promise.all([startEmbeddingServer(), startEmbeddingServer()]);
const { must, refused } = callsOf(await startTestServer({ EMBEDDING_MODEL: 'lab/tiny' }));
const health = async () =>
  (await must('get_system_health')).integrations.find(({ name }: { name: string }) => name === 'embeddings');
const meaningOf = async (q: string) => (await must('search_passages', { q })).meaning;

describe('an embedding model of a provider that is a record', () => {
  it('is waited for, with words that say what is missing, and used as soon as it is there', async () => {
    await must('create_document', { title: 'Pets', content: 'The puppy sleeps.' });
    await until(async () => (await health()).status === 'degraded');
    assert.match((await health()).lastError, /There is no provider lab .*create_model_provider adds one/);
    assert.equal(await meaningOf('hound'), 'unavailable');
    const apiKey = 'sk-of-the-first-provider';
    await must('create_model_provider', { name: 'lab', kind: 'openai-compatible', baseUrl: first.baseUrl, apiKey });
    await until(async () => (await meaningOf('hound')) === 'used');
    assert.equal((await health()).status, 'ok');
    assert.ok(first.embedded.some((text) => text.includes('puppy')));
    assert.equal(first.authorization(), `Bearer ${apiKey}`);
  });

  it('follows its provider to another key and address', async () => {
    const { id } = (await must('list_model_providers')).data.find(({ name }: { name: string }) => name === 'lab');
    const apiKey = 'sk-of-the-second-provider';
    await must('update_model_provider', { id, baseUrl: second.baseUrl, apiKey });
    const asked = first.requests.length;
    await must('create_document', { title: 'Trips', content: 'Hand over invoices.' });
    await until(() => second.embedded.some((text) => text.includes('invoices')));
    assert.deepEqual([second.authorization(), first.requests.length], [`Bearer ${apiKey}`, asked]);
  });

  it('keeps its provider from being deleted or renamed', async () => {
    const { id } = (await must('list_model_providers')).data.find(({ name }: { name: string }) => name === 'lab');
    assert.match((await refused('delete_model_provider', { id })).error, /in use: EMBEDDING_MODEL of the server/);
    assert.equal((await refused('update_model_provider', { id, name: 'other' })).code, 'conflict');
  });
});
