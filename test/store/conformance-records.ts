import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { NotFound, StaleRevision, UniqueTaken } from '../../store/errors.ts';
import { rounds } from '../support/full.ts';
import { anyCharacter, fc } from '../support/property.ts';
import { writing } from '../support/writing.ts';
import type { Stage } from './conformance-stage.ts';
import { agentRecord, time, versionOf } from './records.ts';

export function recordsConformance(stage: Stage): void {
  describe('records', () => {
    before(() => stage.fresh());

    it('fills in id, times and revision', async () => {
      const agent = await stage.write.agents.insert(agentRecord('filled'));
      assert.match(agent.id, /^agt_[0-9a-hjkmnp-tv-z]{26}$/);
      assert.equal(agent.revision, 1);
      assert.equal(agent.createdAt, agent.updatedAt);
      assert.equal(new Date(agent.createdAt).toISOString(), agent.createdAt);
      assert.deepEqual(await stage.store.agents.get(agent.id), agent);
    });

    it('keeps given id, times and revision', async () => {
      const given = { id: 'agt_given', createdAt: time(1), updatedAt: time(2), revision: 7 };
      const agent = await stage.write.agents.insert({ ...agentRecord('given'), ...given });
      assert.deepEqual({ ...agent }, { ...agentRecord('given'), ...given });
    });

    it('gives append-only records only id and creation time', async () => {
      const version = await stage.write.versions.insert(versionOf('agt_v', 3));
      assert.equal('updatedAt' in version, false);
      assert.equal(version.revision, 3);
      assert.match(version.id, /^ver_/);
      await assert.rejects(stage.write.versions.update(version.id, { changeDescription: 'x' }));
      await stage.write.versions.delete(version.id);
      assert.equal(await stage.store.versions.get(version.id), undefined);
    });

    it('refuses a second record with an id, and one that does not fit its schema', async () => {
      const insert = (over: object) => stage.write.agents.insert(agentRecord('twice', over));
      await insert({ id: 'agt_twice' });
      await assert.rejects(insert({ id: 'agt_twice', name: 'other' }), (error) => !(error instanceof UniqueTaken));
      await assert.rejects(insert({ name: 'misfit', status: 'gone' }));
      assert.equal(await stage.store.agents.count({ where: { name: ['other', 'misfit'] } }), 0);
    });

    it('answers undefined for an unknown id', async () => {
      assert.equal(await stage.store.agents.get('agt_unknown'), undefined);
      assert.equal(await stage.write.agents.get('agt_unknown'), undefined);
    });

    it('merges a change, removes what is null, leaves what is undefined', async () => {
      const { id } = await stage.write.agents.insert(agentRecord('merge', { description: 'old', instructions: 'do' }));
      const change = { description: null, instructions: undefined, displayName: 'New', identity: { bio: 'b' } };
      const agent = await stage.write.agents.update(id, change);
      assert.equal('description' in agent, false);
      assert.equal(agent.instructions, 'do');
      assert.equal(agent.displayName, 'New');
      assert.deepEqual(agent.identity, { bio: 'b' });
      assert.equal(agent.revision, 2);
      assert.ok(agent.updatedAt >= agent.createdAt);
      assert.deepEqual(await stage.store.agents.get(id), agent);
    });

    it('replaces members whole', async () => {
      const identity = { bio: 'b', signature: 's' };
      const { id } = await stage.write.agents.insert(agentRecord('whole', { identity }));
      const agent = await stage.write.agents.update(id, { identity: { bio: 'c' } });
      assert.deepEqual(agent.identity, { bio: 'c' });
    });

    it('keeps the revision when a change changes nothing', async () => {
      const agent = await stage.write.agents.insert(agentRecord('same', { tools: ['a', 'b'] }));
      const same = await stage.write.agents.update(agent.id, {
        tools: ['a', 'b'],
        displayName: 'same',
        description: null,
      });
      assert.deepEqual(same, agent);
      await assert.rejects(
        stage.write.agents.update(agent.id, { displayName: 'same' }, { expectedRevision: 5 }),
        StaleRevision,
      );
    });

    it('ignores bookkeeping members in a change', async () => {
      const agent = await stage.write.agents.insert(agentRecord('book'));
      const change = { id: 'agt_other', createdAt: time(0), updatedAt: time(0), revision: 9, displayName: 'B' };
      const changed = await stage.write.agents.update(agent.id, change);
      assert.equal(changed.id, agent.id);
      assert.equal(changed.createdAt, agent.createdAt);
      assert.notEqual(changed.updatedAt, time(0));
      assert.equal(changed.revision, 2);
    });

    it('touches without a new revision', async () => {
      const agent = await stage.write.agents.insert(agentRecord('touch', { createdAt: time(3), updatedAt: time(4) }));
      const touched = await stage.write.agents.touch(agent.id, { description: 'seen' });
      assert.deepEqual({ ...touched }, { ...agent, description: 'seen' });
    });

    it('checks the expected revision of updates and deletions', async () => {
      const { id } = await stage.write.agents.insert(agentRecord('guard'));
      await stage.write.agents.update(id, { displayName: '2' }, { expectedRevision: 1 });
      const stale = (error: unknown) => error instanceof StaleRevision && error.currentRevision === 2;
      await assert.rejects(stage.write.agents.update(id, { displayName: '3' }, { expectedRevision: 1 }), stale);
      await assert.rejects(stage.write.agents.delete(id, { expectedRevision: 1 }), stale);
      const removed = await stage.write.agents.delete(id, { expectedRevision: 2 });
      assert.equal(removed.displayName, '2');
      assert.equal(await stage.store.agents.get(id), undefined);
    });

    it('makes and removes many at once as one after the other', async () => {
      const awkward = ['', 'NULL', 'null', '{a,"b"}', 'back\\slash\nline', "it's", '\u{1f9f6} wool'];
      const given = Array.from({ length: 1100 }, (_, at) => ({
        ...agentRecord(`many-${at}`),
        description: `${awkward[at % awkward.length]} gardening`,
        createdAt: time(at),
      }));
      const { store } = stage;
      const changed: string[] = [];
      const forget = store.onCommit(
        ({ changes }) => {
          changed.push(...changes.map(({ kind }) => kind));
        },
        ['agents'],
      );
      const made = await store.transaction(async (tx) => {
        const inserted = await tx.agents.insertAll(given);
        assert.deepEqual(await tx.agents.get(inserted[7]?.id ?? ''), inserted[7]);
        assert.equal(await tx.agents.count({ where: { name: 'many-1099' } }), 1);
        return inserted;
      });
      assert.deepEqual(
        made.map(({ name, description, createdAt }) => ({ name, description, createdAt })),
        given.map(({ name, description, createdAt }) => ({ name, description, createdAt })),
      );
      const ids = made.map(({ id }) => id);
      for (const { id } of [made[0], made[6], made.at(-1)].flatMap((one) => one ?? []))
        assert.deepEqual(
          await store.agents.get(id),
          made.find((one) => one.id === id),
        );
      assert.equal((await store.search('agents', { text: 'gardening', limit: 1 })).count, given.length);

      const [first = '', second = ''] = ids;
      const taken = (error: unknown) => error instanceof UniqueTaken && error.holderId === first;
      const others = [agentRecord('new'), agentRecord('many-0')];
      await assert.rejects(writing(store).agents.insertAll(others), taken);
      const twins = [agentRecord('twin', { id: 'agt_one' }), agentRecord('other', { id: 'agt_one' })];
      await assert.rejects(writing(store).agents.insertAll(twins), /agt_one/);
      assert.equal(await store.agents.count({ where: { name: ['new', 'twin', 'other'] } }), 0);
      const missing = (error: unknown) => error instanceof NotFound;
      for (const wrong of [
        [first, 'agt_x'],
        [first, second, first],
      ]) {
        await assert.rejects(writing(store).agents.deleteAll(wrong), missing);
      }

      const removed = await store.transaction(async (tx) => {
        const gone = await tx.agents.deleteAll(ids);
        assert.equal(await tx.agents.get(first), undefined);
        assert.deepEqual(await tx.agents.insertAll([]), []);
        await tx.agents.insert(agentRecord('many-0')); // the name is free again
        return gone;
      });
      assert.deepEqual(removed, made);
      assert.equal(await store.agents.count({ where: { name: given.map(({ name }) => name) } }), 1);
      forget();
      const kinds = ['created', 'deleted'].map((kind) => changed.filter((each) => each === kind).length);
      assert.deepEqual(kinds, [given.length + 1, given.length]);
    });

    it('names the record that is not there', async () => {
      const missing = (error: unknown) =>
        error instanceof NotFound && error.id === 'agt_x' && error.collection === 'agents';
      await assert.rejects(stage.store.agents.read('agt_x'), missing);
      await assert.rejects(stage.write.agents.read('agt_x'), missing);
      await assert.rejects(stage.write.agents.update('agt_x', {}), missing);
      await assert.rejects(stage.write.agents.touch('agt_x', {}), missing);
      await assert.rejects(stage.write.agents.delete('agt_x'), missing);
    });

    it('counts in the sizes of its collection, while it is there', async () => {
      const sizes = async () =>
        (await stage.store.sizes('versions')).filter(({ values }) => values.principalId === "it's, {me}");
      const versions = [10, undefined].map((size, at) =>
        versionOf('agt_size', 800 + at, { principalId: "it's, {me}", payload: { text: 'ä' }, ...(size && { size }) }),
      );
      const made = await stage.write.versions.insertAll(versions);
      const failed = stage.store.transaction(async (tx) => {
        await tx.versions.insert(versionOf('agt_size', 900, { principalId: "it's, {me}" }));
        throw new Error('given up');
      });
      await assert.rejects(failed, /given up/);
      const values = { entityType: 'agent', principalId: "it's, {me}" };
      const measured = Buffer.byteLength('{"text":"ä"}');
      assert.deepEqual(await sizes(), [{ values, records: 2, bytes: 10 + measured }]);
      await stage.write.versions.delete(made[0]?.id ?? '');
      assert.deepEqual(await sizes(), [{ values, records: 1, bytes: measured }]);
      await stage.write.versions.delete(made[1]?.id ?? '');
      assert.deepEqual(await sizes(), []);
    });

    it('is not changed by what callers do to their objects', async () => {
      const tools = ['a'];
      const payload = { deep: { list: [1] } };
      const agent = await stage.write.agents.insert(agentRecord('mine', { tools }));
      const version = await stage.write.versions.insert(versionOf(agent.id, 1, { payload }));
      tools.push('b');
      payload.deep.list.push(2);
      const vandalise = (record: object) => {
        try {
          Object.assign(record, { name: 'vandal' });
        } catch {
          // A store may hand out frozen records.
        }
      };
      vandalise(agent);
      vandalise((await stage.store.agents.get(agent.id)) ?? {});
      for (const record of (await stage.store.agents.find({ where: { name: 'mine' }, limit: 1 })).records)
        vandalise(record);
      assert.equal((await stage.store.agents.get(agent.id))?.name, 'mine');
      assert.deepEqual((await stage.store.agents.get(agent.id))?.tools, ['a']);
      assert.deepEqual((await stage.store.versions.get(version.id))?.payload, { deep: { list: [1] } });
    });

    it('gives back any JSON after opening again', async () => {
      const kept = new Map<string, object>();
      const json = fc
        .dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue({ maxDepth: 3, stringUnit: anyCharacter }))
        // As a door would have parsed it: without NUL, which no store has to hold, and without `__proto__`.
        .map(
          (value): Record<string, unknown> => JSON.parse(JSON.stringify(value).replaceAll(/\\u0000|__proto__/g, '')),
        );
      let revision = 0;
      await fc.assert(
        fc.asyncProperty(json, async (payload) => {
          revision += 1;
          const input = versionOf('agt_json', revision, { payload });
          const version = await stage.write.versions.insert(input);
          assert.deepEqual(version.payload, payload);
          kept.set(version.id, version);
        }),
        { numRuns: rounds(10, 60), endOnFailure: true },
      );
      await stage.reopen();
      for (const [id, version] of kept) assert.deepEqual(await stage.store.versions.get(id), version);
    });
  });
}
