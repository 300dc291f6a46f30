import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();

interface Told {
  readonly type: string;
  readonly description: string;
  readonly recordType: string;
}

describe('list_event_types', () => {
  it('lists each type with what happened to what, and flows take each of them and no other', async () => {
    const { must, refused } = callsOf(server);
    const { data }: { data: Told[] } = await must('list_event_types');
    assert.equal(new Set(data.map(({ type }) => type)).size, data.length);
    for (const kind of ['created', 'updated', 'deleted']) {
      assert.ok(data.some(({ type }) => type === `agent.${kind}`));
    }
    assert.deepEqual(
      data.find(({ type }) => type === 'thread.message.created'),
      { type: 'thread.message.created', description: 'A message of a thread was created.', recordType: 'message' },
    );
    assert.ok(!data.some(({ type }) => type === 'thread.message.updated'), 'messages never change');
    for (const { type, description, recordType } of data) {
      assert.match(
        description,
        /^An? .+ was (?:created|changed|deleted)\.$|^An approval was (?:requested|decided)\.$|^The .+ was |^A budget (?:was|reached) .+\.$/,
      );
      assert.match(recordType, /^[a-z-]+$/);
      const { id } = await must('create_flow', { name: type, trigger: { kind: 'event', type } });
      await must('delete_flow', { id });
    }
    const { error } = await refused('create_flow', { name: 'x', trigger: { kind: 'event', type: 'agent.eaten' } });
    assert.match(error, /see list_event_types/);
  });

  it('takes the right to read flows', async () => {
    const { must, refused } = callsOf(server);
    const key = await makeKey(server, { grants: ['flow:read'] });
    assert.ok((await must('list_event_types', {}, key)).data.length > 10);
    assert.equal(
      (await refused('list_event_types', {}, await makeKey(server, { grants: ['agent'] }))).code,
      'forbidden',
    );
    assert.equal(
      (await refused('list_event_types', {}, await makeKey(server, { scopes: ['agents:read'] }))).code,
      'forbidden',
    );
  });
});
