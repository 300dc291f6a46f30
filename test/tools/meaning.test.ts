import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { embeddingEnv, startEmbeddingServer } from '../support/embedding-server.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const provider = await startEmbeddingServer();
const server = await startTestServer(embeddingEnv(provider));
const { must, refused, call } = callsOf(server);
const { id: projectId } = await must('create_project', { name: 'Kennel' });
const dogs = await must('create_document', {
  title: 'Animals',
  content: '## Office\n\nThe puppy sleeps here.',
  projectId,
});
const travel = await must('create_document', { title: 'Trips', content: '## Costs\n\nHand over invoices.' });

interface Found {
  readonly documentId?: string;
  readonly id?: string;
  readonly type?: string;
  readonly weak?: true;
}

const search = async (q: string, input: object = {}): Promise<{ data: Found[]; meaning: string }> =>
  must('search_passages', { q, ...input });
const isEmbedded = async () => {
  const { integrations } = await must('get_system_health');
  const { texts } = integrations.find(({ name }: { name: string }) => name === 'embeddings');
  return texts.embedded === texts.records;
};
await until(isEmbedded);

describe('search by meaning', () => {
  it('finds what shares no word with the question', async () => {
    const { data, meaning } = await search('hound');
    assert.equal(meaning, 'used');
    assert.equal(data[0]?.documentId, dogs.id);
    assert.equal((await search('bills')).data[0]?.documentId, travel.id);
  });

  it('marks nonsense as weak', async () => {
    const { data } = await search('zzxqj vvkpw');
    assert.ok(data.every(({ weak }) => weak));
  });

  it('finds a change, and not what was there before', async () => {
    const { id } = await must('create_document', { title: 'Door', content: 'The passphrase is on the note.' });
    await until(async () => (await search('credentials')).data[0]?.documentId === id);
    await must('update_document', { id, content: 'The kettle is on the stove.' });
    await until(isEmbedded);
    assert.notEqual((await search('credentials')).data.find(({ weak }) => !weak)?.documentId, id);
    await must('delete_document', { id });
    const { data } = await search('kettle stove');
    assert.ok(data.every(({ documentId }) => documentId !== id));
  });

  it('embeds each text once', async () => {
    const content = 'A sentence that two documents have in common.';
    for (const title of ['one', 'two', 'three'])
      await must('create_document', { title: 'Same', content, tags: [title] });
    await until(isEmbedded);
    const asked = provider.embedded.filter((text) => text.includes(content));
    assert.equal(asked.length, 1);
  });

  it('looks in memories, skills and messages too, where the caller names them', async () => {
    const memory = await must('create_memory', {
      content: 'The vacation of Ada is in July.',
      kind: 'fact',
      scope: 'workspace',
    });
    const skill = await must('create_skill', {
      name: 'repay',
      displayName: 'Repay',
      instructions: 'Send the repayment by mail.',
    });
    await until(isEmbedded);
    const types = ['memory', 'skill', 'document'];
    assert.equal((await search('holiday', { types })).data[0]?.id, memory.id);
    assert.deepEqual(
      (await search('refund', { types })).data.slice(0, 1).map(({ id, type }) => ({ id, type })),
      [{ id: skill.id, type: 'skill' }],
    );
    const { issues } = await refused('search_passages', { q: 'x', types, projectId });
    assert.equal(issues?.[0]?.path, 'types');
  });

  it('finds memories with search_memories too, by filters, in pages, and by tags and ids still', async () => {
    const made: string[] = [];
    for (const [content, kind] of [
      ['The puppy of Grace is called Rex.', 'fact'],
      ['Grace likes a pet.', 'preference'],
      ['Her puppy sleeps.', 'fact'],
    ]) {
      made.push((await must('create_memory', { content, kind, tags: ['kennel'] })).id);
    }
    await until(isEmbedded);
    const recall = async (input: object) => {
      const { data, ...page } = await must('search_memories', input);
      return { ...page, strong: data.flatMap(({ id, weak }: { id: string; weak?: true }) => (weak ? [] : [id])) };
    };
    assert.deepEqual((await recall({ q: 'hound' })).strong.sort(), [...made].sort());
    assert.deepEqual((await recall({ q: 'hound', kind: 'preference' })).strong, [made[1]]);
    assert.deepEqual((await recall({ q: 'kennel' })).strong.sort(), [...made].sort());
    assert.deepEqual((await recall({ q: String(made[2]) })).strong, [made[2]]);
    const { total, nextCursor, strong: first } = await recall({ q: 'hound', limit: 2, includeTotal: true });
    const { strong: second } = await recall({ q: 'hound', limit: 50, cursor: nextCursor });
    assert.deepEqual([...first, ...second].sort(), [...made].sort());
    assert.ok(total >= made.length);
    const key = await makeKey(server, { grants: [`memory:read:${made[0]}`] });
    const { data } = await must('search_memories', { q: 'hound' }, key);
    assert.deepEqual(pluck(data, 'id'), [made[0]]);
    for (const id of made) await must('delete_memory', { id });
  });

  it('shows those with grants for some documents these alone, and their scores depend on nothing else', async () => {
    const key = await makeKey(server, { grants: [`document:read:${travel.id}`] });
    const asked = async () => await call('search_passages', { q: 'hound bills' }, key);
    const before = JSON.stringify(await asked());
    assert.match(before, new RegExp(travel.id));
    assert.doesNotMatch(before, new RegExp(dogs.id));
    await must('create_document', { title: 'Bills', content: 'A hound with bills.' });
    await until(isEmbedded);
    assert.equal(JSON.stringify(await asked()), before);
    const answer = await call('search_passages', { q: 'x', types: ['memory'] }, key);
    assert.ok('error' in answer && answer.error.code === 'forbidden');
  });

  it('is counted as usage of the model, for texts and for questions', async () => {
    await search('counted');
    const tokens = provider.embedded.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
    await until(async () => {
      const { rows } = await must('get_usage', { by: 'model' });
      const { calls, inputTokens } = rows.find(({ key }: { key: string }) => key === 'custom/tiny') ?? {};
      return calls === provider.requests.length && inputTokens === tokens;
    });
  });

  it('goes by words alone for a caller whose budget is used up', async () => {
    const { id, secret: key } = await must('create_api_key', { name: 'poor', scopes: ['documents:read'] });
    await must('create_budget', { subject: { type: 'key', id }, measure: 'tokens', period: 'day', limit: 1 });
    const byKey = async (q: string) => (await must('search_passages', { q }, key)).meaning;
    assert.equal(await byKey('the first of its questions'), 'used');
    const asked = provider.requests.length;
    assert.equal(await byKey('puppy that sleeps'), 'unavailable');
    assert.equal(provider.requests.length, asked);
    assert.equal((await search('puppy that sleeps')).meaning, 'used');
  });

  it('goes by words alone while the provider is away, and says so', async () => {
    provider.play(() => ({ status: 503 }));
    const { data, meaning } = await search('puppy sleeps');
    assert.equal(meaning, 'unavailable');
    assert.equal(data[0]?.documentId, dogs.id);
    provider.play(undefined);
  });
});
