import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { StaleRevision, StoreUnavailable, UniqueTaken } from '../../store/errors.ts';
import { deferred } from '../support/deferred.ts';
import { writing } from '../support/writing.ts';
import type { Stage } from './conformance-stage.ts';
import { agentRecord, auditRecord, versionOf } from './records.ts';

export function transactionsConformance(stage: Stage): void {
  describe('unique values', () => {
    before(() => stage.fresh());

    it('refuses a value that another record has, naming it', async () => {
      const { id } = await stage.write.agents.insert(agentRecord('one'));
      const other = await stage.write.agents.insert(agentRecord('two'));
      const taken = (error: unknown) =>
        error instanceof UniqueTaken &&
        error.holderId === id &&
        error.fields.join() === 'name' &&
        error.collection === 'agents';
      await assert.rejects(stage.write.agents.insert(agentRecord('one')), taken);
      await assert.rejects(stage.write.agents.update(other.id, { name: 'one' }), taken);
      assert.equal((await stage.store.agents.get(other.id))?.name, 'two');
    });

    it('leaves excepted records out, and checks again when they come back', async () => {
      const first = await stage.write.agents.insert(agentRecord('reused'));
      await stage.write.agents.update(first.id, { status: 'deleted' });
      const second = await stage.write.agents.insert(agentRecord('reused'));
      const back = () => stage.write.agents.update(first.id, { status: 'active' });
      await assert.rejects(back(), (error) => error instanceof UniqueTaken && error.holderId === second.id);
      await stage.write.agents.delete(second.id);
      assert.equal((await back()).status, 'active');
    });

    it('ignores case where the rule says so, and only there', async () => {
      const user = { email: 'Ada@Example.org', role: 'owner', isActive: true };
      await stage.write.adminUsers.insert(user);
      await assert.rejects(stage.write.adminUsers.insert({ ...user, email: 'ada@example.ORG' }), UniqueTaken);
      await stage.write.skills.insert({ name: 'Skill' });
      await stage.write.skills.insert({ name: 'skill' });
    });

    it('compares all fields of a rule together', async () => {
      await stage.write.versions.insert(versionOf('agt_u', 1));
      await stage.write.versions.insert(versionOf('agt_u', 2));
      await stage.write.versions.insert(versionOf('agt_w', 1));
      await assert.rejects(stage.write.versions.insert(versionOf('agt_u', 2)), UniqueTaken);
    });

    it('sees changes of the same transaction', async () => {
      await assert.rejects(
        stage.store.transaction(async (tx) => {
          await tx.skills.insert({ name: 'pair' });
          await tx.skills.insert({ name: 'pair' });
        }),
        UniqueTaken,
      );
      assert.equal(await stage.store.skills.count({ where: { name: 'pair' } }), 0);
      const [a, b] = await stage.store.transaction(async (tx) => [
        await tx.skills.insert({ name: 'left' }),
        await tx.skills.insert({ name: 'right' }),
      ]);
      await stage.store.transaction(async (tx) => {
        await tx.skills.update(b?.id ?? '', { description: 'touched first' });
        await tx.skills.update(a?.id ?? '', { name: 'middle' });
        await tx.skills.update(b?.id ?? '', { name: 'left' });
        await tx.skills.update(a?.id ?? '', { name: 'right' });
      });
      await assert.rejects(
        stage.write.skills.insert({ name: 'left' }),
        (error) => error instanceof UniqueTaken && error.holderId === b?.id,
      );
      await stage.write.skills.insert({ name: 'middle' });
    });

    it('frees the value of a deleted record', async () => {
      const { id } = await stage.write.skills.insert({ name: 'freed' });
      await stage.store.transaction(async (tx) => {
        await tx.skills.delete(id);
        await tx.skills.insert({ name: 'freed' });
      });
      assert.equal(await stage.store.skills.count({ where: { name: 'freed' } }), 1);
    });
  });

  describe('transactions', () => {
    before(() => stage.fresh());

    it('shows its own changes inside and nothing outside until it commits', async () => {
      const { id } = await stage.write.agents.insert(agentRecord('outside'));
      await stage.store.transaction(async (tx) => {
        await tx.agents.update(id, { name: 'inside', status: 'paused' });
        const added = await tx.agents.insert(agentRecord('added', { status: 'paused' }));
        assert.equal((await tx.agents.get(id))?.name, 'inside');
        const found = await tx.agents.find({ where: { status: 'paused' }, limit: 10, order: 'oldest' });
        assert.deepEqual(found.records.map((record) => record.id).sort(), [id, added.id].sort());
        assert.equal(await tx.agents.count({ where: { status: 'active' } }), 0);
        assert.equal(await tx.agents.count({}), 2);
      });
      assert.equal((await stage.store.agents.get(id))?.name, 'inside');
    });

    it('calls listeners for each commit once it is durable, with who made it, and for nothing else', async () => {
      const { store } = stage;
      const { id } = await writing(store).agents.insert(agentRecord('told before'));
      const heard: unknown[] = [];
      const forget = store.onCommit(({ changes, origin }) => {
        heard.push([changes.map(({ kind, collection, record }) => `${kind} ${collection} ${record.name}`), origin]);
      });
      const origin = { type: 'test' };
      await store.transaction(async (tx) => {
        await tx.agents.insert(agentRecord('told'));
        await tx.agents.update(id, { displayName: 'Told' });
        await tx.agents.touch(id, { displayName: 'Touched' });
      }, origin);
      await writing(store).agents.delete(id);
      await assert.rejects(
        store.transaction(async (tx) => {
          await tx.agents.insert(agentRecord('never told'));
          throw new Error('no');
        }),
      );
      forget();
      await writing(store).agents.insert(agentRecord('told to nobody'));
      assert.deepEqual(heard, [
        [['created agents told', 'updated agents told before'], origin],
        [['deleted agents told before'], undefined],
      ]);
    });

    it('calls a listener for changes of some collections only for commits with one of them', async () => {
      const { store } = stage;
      const heard: unknown[] = [];
      const forget = store.onCommit(
        ({ changes }) => heard.push(changes.map(({ collection }) => collection)),
        ['skills'],
      );
      await writing(store).agents.insert(agentRecord('of another collection'));
      await store.transaction(async (tx) => {
        await tx.agents.insert(agentRecord('beside a skill'));
        await tx.skills.insert({ name: 'heard of' });
      });
      forget();
      assert.deepEqual(heard, [['agents', 'skills']]);
    });

    it('keeps what was committed, and calls the other listeners, if one fails', async () => {
      const { store } = stage;
      const heard: number[] = [];
      const forget = [
        store.onCommit(() => {
          throw new Error('a listener that fails');
        }),
        store.onCommit(({ changes }) => heard.push(changes.length)),
      ];
      const { id } = await writing(store).skills.insert({ name: 'heard by one' });
      for (const each of forget) each();
      assert.ok(await store.skills.get(id));
      assert.deepEqual(heard, [1]);
      assert.match(store.status().lastError ?? '', /a listener that fails/);
    });

    it('hides unfinished changes from readers', async () => {
      const { promise: gate, resolve: proceed } = deferred();
      let staged = () => {};
      const ready = new Promise<void>((resolve) => {
        staged = resolve;
      });
      const running = stage.store.transaction(async (tx) => {
        await tx.skills.insert({ name: 'hidden' });
        staged();
        await gate;
      });
      await ready;
      assert.equal(await stage.store.skills.count({ where: { name: 'hidden' } }), 0);
      proceed();
      await running;
      assert.equal(await stage.store.skills.count({ where: { name: 'hidden' } }), 1);
    });

    it('leaves nothing of one that throws', async () => {
      const { id } = await stage.write.agents.insert(agentRecord('rollback'));
      const entry = auditRecord({ tool: 'rolled_back' });
      await assert.rejects(
        stage.store.transaction(async (tx) => {
          await tx.agents.update(id, { name: 'gone' });
          await tx.skills.insert({ name: 'gone' });
          await tx.agents.delete(id);
          tx.audit.append(entry);
          throw new Error('changed my mind');
        }),
        /changed my mind/,
      );
      assert.equal((await stage.store.agents.get(id))?.name, 'rollback');
      assert.equal(await stage.store.skills.count({ where: { name: 'gone' } }), 0);
      assert.equal((await stage.store.audit.find({ tool: 'rolled_back', limit: 1 })).records.length, 0);
      await stage.write.agents.insert(agentRecord('gone'));
    });

    it('refuses calls after its end', async () => {
      const tx = await stage.store.transaction(async (inner) => inner);
      await assert.rejects(tx.agents.insert(agentRecord('late')), /ended/);
      await assert.rejects(tx.agents.get('agt_x'), /ended/);
      assert.throws(() => tx.audit.append(auditRecord()), /ended/);
    });

    it('runs one after the other, so that no update is lost', async () => {
      const { id } = await stage.write.agents.insert(agentRecord('counter'));
      await Promise.all(
        Array.from({ length: 64 }, () =>
          stage.store.transaction(async (tx) => {
            const { maxSteps, description = '0' } = { maxSteps: 1, ...(await tx.agents.get(id)) };
            await tx.agents.update(id, { maxSteps, description: String(Number(description) + 1) });
          }),
        ),
      );
      const counter = await stage.store.agents.get(id);
      assert.equal(counter?.description, '64');
      assert.equal(counter?.revision, 65);
    });

    it('lets one of 64 guarded writers win each revision', async () => {
      const { id } = await stage.write.agents.insert(agentRecord('guarded'));
      let stale = 0;
      const writer = async (name: number) => {
        for (;;) {
          const revision = (await stage.store.agents.get(id))?.revision;
          try {
            const change = { description: String(name) };
            return await stage.write.agents.update(id, change, { expectedRevision: revision });
          } catch (error) {
            if (!(error instanceof StaleRevision)) throw error;
            stale += 1;
          }
        }
      };
      const revisions = (await Promise.all(Array.from({ length: 64 }, (_, at) => writer(at)))).map(
        (record) => record.revision,
      );
      assert.deepEqual(
        revisions.sort((a, b) => a - b),
        Array.from({ length: 64 }, (_, at) => at + 2),
      );
      assert.ok(stale > 0);
    });
  });

  describe('closing', () => {
    before(() => stage.fresh());

    it('finishes what was accepted and refuses what comes later', async () => {
      assert.equal(stage.store.status().writable, true);
      const accepted = Array.from({ length: 20 }, (_, at) => stage.write.agents.insert(agentRecord(`c${at}`)));
      const entry = auditRecord();
      stage.store.audit.append(entry);
      const closed = stage.store;
      const reopened = stage.reopen();
      await Promise.all(accepted);
      await reopened;
      assert.equal(await stage.store.agents.count({}), 20);
      assert.deepEqual((await stage.store.audit.find({ limit: 5 })).records, [entry]);
      await assert.rejects(
        closed.transaction(async () => 1),
        StoreUnavailable,
      );
      await assert.rejects(closed.agents.get('agt_1'), StoreUnavailable);
      assert.equal(closed.status().writable, false);
    });

    it('ends the work that is under way, and keeps it', async () => {
      await stage.fresh();
      const { promise: held, resolve: go } = deferred();
      const { promise: isUnderWay, resolve: begun } = deferred();
      const kept = stage.store.transaction(async (tx) => {
        begun();
        await held;
        return tx.agents.insert(agentRecord('late'));
      });
      await isUnderWay;
      const reopened = stage.reopen();
      for (let turn = 0; turn < 5; turn += 1) await setImmediate(); // who does not wait has closed by now
      go();
      const { id } = await kept;
      await reopened;
      assert.ok(await stage.store.agents.get(id));
    });
  });
}
