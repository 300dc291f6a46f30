import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { CollectionDefinition } from '../../store/collection-definition.ts';
import { type CollectionName, collections } from '../../store/collections.ts';
import { UniqueTaken } from '../../store/errors.ts';
import type { Reader, Writer } from '../../store/port.ts';
import type { Stage } from './conformance-stage.ts';
import { sampleRecord } from './sample-record.ts';

type Raw = Readonly<Record<string, unknown>>;
/** A record of any collection; the store checks each by its schema. */
type Records = Writer<Raw>;

const defined = Object.entries(collections) as unknown as [CollectionName, CollectionDefinition][]; // of all at once

/** Records move with their members, in every index that a collection declares. */
export function indexesConformance(stage: Stage): void {
  describe('records whose indexed members change', () => {
    before(() => stage.fresh());

    const committed = (name: CollectionName) => stage.store[name] as unknown as Reader<Raw>;
    const change = <Result>(name: CollectionName, work: (records: Records) => Promise<Result>) =>
      stage.store.transaction((tx) => work(tx[name] as unknown as Records));

    for (const [name, definition] of defined) {
      for (const fields of definition.indexes) {
        it(`are found by the new ${fields.join(' and ')} alone: ${name}`, async () => {
          const old = recordFor(definition, fields, 0);
          const next = recordFor(definition, fields, 1);
          const [was, is] = [whereOf(old, fields), whereOf(next, fields)];
          assert.notDeepEqual(was, is, 'there are two values to move between');
          const { id } = await change(name, (records) => records.insert(old));
          const places = async (reader: Reader<Raw>) => [await holds(reader, was, id), await holds(reader, is, id)];
          const expect = async (wanted: readonly boolean[], what: string) => {
            assert.deepEqual(await places(committed(name)), wanted, what);
            assert.deepEqual(await change(name, places), wanted, `${what}, in a transaction`);
          };
          await expect([true, false], 'as made');
          const moved = pick(next, fields);
          if (definition.appendOnly) {
            await change(name, async (records) => {
              await records.delete(String(id));
              await records.insert({ ...old, ...moved, id });
            });
          } else {
            await thrownAway(
              change(name, async (records) => {
                await records.update(String(id), moved);
                assert.deepEqual(await places(records), [false, true], 'as changed in the transaction');
                throw new Error('no');
              }),
            );
            await expect([true, false], 'after a change that was thrown away');
            await change(name, (records) => records.update(String(id), moved));
            await expect([false, true], 'after update');
            await change(name, (records) => records.touch(String(id), pick(old, fields)));
            await expect([true, false], 'after touch');
            await change(name, (records) => records.update(String(id), moved));
          }
          await expect([false, true], 'after the change');
          await change(name, (records) => records.delete(String(id)));
          await expect([false, false], 'after the deletion');
        });
      }

      for (const { fields, except } of definition.unique) {
        it(`give up the old ${fields.join(' and ')} and hold the new one: ${name}`, async () => {
          const first = recordFor(definition, fields, 0);
          const moved = pick(recordFor(definition, fields, 1), fields);
          const { id } = await change(name, (records) => records.insert(first));
          const rest = definition.unique.flatMap((rule) => rule.fields).filter((field) => !fields.includes(field));
          let serial = 0;
          const other = (values: Raw) => {
            serial += 1;
            const free = Object.fromEntries(rest.map((field) => [field, `free${serial}`]));
            return change(name, (records) => records.insert({ ...first, ...free, ...values }));
          };
          await assert.rejects(other({}), UniqueTaken);
          if (definition.appendOnly) {
            await change(name, async (records) => {
              await records.delete(String(id));
              await records.insert({ ...first, ...moved, id });
            });
          } else await change(name, (records) => records.update(String(id), moved));
          await assert.rejects(other(moved), UniqueTaken, 'the new value is held');
          const { id: second } = await other({});
          if (except) {
            await change(name, (records) => records.update(String(id), { [except.field]: except.value }));
            const { id: third } = await other(moved);
            await change(name, (records) => records.delete(String(third)));
          }
          for (const one of [id, second]) await change(name, (records) => records.delete(String(one)));
          for (const values of [{}, moved]) {
            const { id: again } = await other(values);
            await change(name, (records) => records.delete(String(again)));
          }
        });
      }
    }

    it('are so after opening again', async () => {
      const { id } = await change('skills', (records) => records.insert({ name: 'before' }));
      await change('skills', (records) => records.update(String(id), { name: 'after' }));
      await stage.reopen();
      const found = await Promise.all(
        ['before', 'after'].map((value) => holds(committed('skills'), { name: value }, id)),
      );
      assert.deepEqual(found, [false, true]);
      await change('skills', (records) => records.insert({ name: 'before' }));
      await assert.rejects(
        change('skills', (records) => records.insert({ name: 'after' })),
        UniqueTaken,
      );
    });
  });
}

/** A record with values in the given members and the required ones. If it expires, then in the far future. */
function recordFor({ schema, expires }: CollectionDefinition, fields: readonly string[], which: 0 | 1): Raw {
  const { id: _, createdAt: __, ...record } = sampleRecord(schema, fields, which);
  return { ...record, ...(expires && { [expires]: '2999-01-01T00:00:00.000Z' }) };
}

function pick(record: Raw, fields: readonly string[]): Raw {
  return Object.fromEntries(fields.map((field) => [field, record[field]]));
}

/** The filter that finds the record by these members; a list by one item. */
function whereOf(record: Raw, fields: readonly string[]): Raw {
  return Object.fromEntries(fields.map((field) => [field, [record[field]].flat()[0]]));
}

async function holds(reader: Reader<Raw>, where: Raw, id: unknown): Promise<boolean> {
  const query = { where: where as never }; // scalars, as the indexed members of the sample are
  const { records } = await reader.find({ ...query, limit: 1000 });
  const isFound = records.some((record) => record.id === id);
  assert.equal(await reader.count(query), records.length);
  const { records: among } = await reader.find({ any: [where as never], limit: 1000 });
  assert.equal(
    among.some((record) => record.id === id),
    isFound,
  );
  return isFound;
}

async function thrownAway(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, /^Error: no$/);
}
