import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);

const columns = [
  { name: 'Name', type: 'string', required: true },
  { name: 'Deal size', type: 'number' },
  { name: 'Won', type: 'boolean' },
  { name: 'Met at', type: 'date-time' },
  { name: 'Extra', type: 'json', required: true },
];
const leads = () => must('create_database', { name: 'Leads', columns });
const values = { Name: 'Ada', 'Deal size': 1.5, Won: false, 'Met at': '2026-03-01T10:00:00Z', Extra: { a: [1, null] } };

describe('databases', () => {
  it('refuse columns with names that look alike or have a special meaning', async () => {
    const problems = async (...names: string[]) => {
      const input = { name: 'x', columns: names.map((name) => ({ name, type: 'string' })) };
      const { issues = [] } = await refused('create_database', input);
      return [...new Set(issues.map(({ path }) => path))];
    };
    assert.deepEqual(await problems('Name', 'other', 'name'), ['columns[2].name']);
    assert.deepEqual(
      await problems('__proto__', '1', '', ' a', 'b '),
      [0, 1, 2, 3, 4].map((n) => `columns[${n}].name`),
    );
    assert.deepEqual(await problems(), ['columns']);
    const { issues } = await refused('create_database', { name: 'x', columns: [{ name: 'a', type: 'text' }] });
    assert.equal(issues?.[0]?.path, 'columns[0].type');
    assert.deepEqual(await problems('constructor', 'toString'), ['columns[0].name', 'columns[1].name']);
    const plain = await must('create_database', { name: 'x', columns: [{ name: 'a', type: 'string' }] });
    const inherited = await refused('create_record', { databaseId: plain.id, values: { constructor: 'x' } });
    assert.equal(inherited.issues?.[0]?.path, 'values.constructor');
  });

  it('cannot be deleted while they hold records', async () => {
    const { id: databaseId } = await leads();
    const { id } = await must('create_record', { databaseId, values });
    const { code, error } = await refused('delete_database', { id: databaseId });
    assert.deepEqual([code, error.includes(id)], ['conflict', true]);
    await must('delete_record', { databaseId, id });
    await must('delete_database', { id: databaseId });
  });
});

describe('records', () => {
  it('are checked against the columns, with every problem named', async () => {
    const { id: databaseId } = await leads();
    const wrong = { Nmae: 'Ada', 'Deal size': '5', Won: 'yes', 'Met at': 'tomorrow', __extra: 1 };
    const { code, issues = [] } = await refused('create_record', { databaseId, values: wrong });
    assert.equal(code, 'invalid_input');
    assert.deepEqual(issues.map(({ path }) => path).sort(), [
      'values.Extra',
      'values.Name',
      'values.Nmae',
      'values.Won',
      'values.__extra',
      'values["Deal size"]',
      'values["Met at"]',
    ]);
    assert.match(issues.find(({ path }) => path === 'values.Nmae')?.message ?? '', /did you mean "Name"/);
    const { id } = await must('create_record', { databaseId, values });
    for (const change of [{ Name: null }, { Extra: null }, { Won: 1 }, { Age: 3 }]) {
      const { code } = await refused('update_record', { databaseId, id, values: change });
      assert.equal(code, 'invalid_input', JSON.stringify(change));
    }
    const long = await refused('update_record', { databaseId, id, values: { Name: 'x'.repeat(200_000) } });
    assert.equal(long.issues?.[0]?.path, 'values');
  });

  it('of large values come in pages that end early', async () => {
    const { id: databaseId } = await leads();
    const large = { ...values, Name: 'x'.repeat(190_000) };
    for (let n = 0; n < 7; n += 1) await must('create_record', { databaseId, values: large });
    const first = await must('list_records', { databaseId });
    assert.equal(first.data.length, 5);
    const rest = await must('list_records', { databaseId, cursor: first.nextCursor });
    assert.deepEqual([rest.data.length, rest.nextCursor], [2, null]);
  });

  it('belong to their database alone', async () => {
    const [one, two] = [await leads(), await leads()];
    const { id } = await must('create_record', { databaseId: one.id, values });
    const elsewhere = { databaseId: two.id, id };
    for (const [tool, more] of [['get_record'], ['update_record', { values: {} }], ['delete_record']] as const) {
      assert.equal((await refused(tool, { ...elsewhere, ...more })).code, 'not_found', tool);
    }
    assert.deepEqual((await must('list_records', { databaseId: two.id })).data, []);
    for (const [tool, more] of [['list_records'], ['create_record', { values }]] as const) {
      assert.equal((await refused(tool, { databaseId: 'dbs_none', ...more })).code, 'not_found', tool);
    }
  });

  it('open to grants for the record or for its database, their history too, also when deleted', async () => {
    const [mine, other] = [await leads(), await leads()];
    const record = await must('create_record', { databaseId: mine.id, values });
    const second = await must('create_record', { databaseId: mine.id, values });
    const foreign = await must('create_record', { databaseId: other.id, values });
    const history = (id: string) => ({ entityType: 'database-record', entityId: id });
    const forDatabase = await makeKey(server, { grants: [`record:*:${mine.id}`] });
    const forRecord = await makeKey(server, { grants: [`record:*:${record.id}`] });

    const ids = async (key: string) => pluck((await must('list_records', { databaseId: mine.id }, key)).data, 'id');
    assert.deepEqual(await ids(forDatabase), [second.id, record.id]);
    assert.deepEqual(await ids(forRecord), [record.id]);
    assert.deepEqual((await must('list_records', { databaseId: other.id }, forDatabase)).data, []);
    assert.deepEqual((await must('list_databases', {}, forDatabase)).data, [mine]);

    const made = await must('create_record', { databaseId: mine.id, values }, forDatabase);
    for (const key of [forDatabase, forRecord]) {
      await must('update_record', { databaseId: mine.id, id: record.id, values: { Won: true } }, key);
      assert.ok((await must('list_versions', history(record.id), key)).data.length > 0);
      const place = { databaseId: other.id, id: foreign.id };
      for (const [tool, input] of [
        ['get_record', place],
        ['get_record', { ...place, databaseId: mine.id }],
        ['delete_record', place],
        ['create_record', { databaseId: other.id, values }],
        ['create_database', { name: 'x', columns }],
        ['list_versions', history(foreign.id)],
      ] as const) {
        assert.equal((await refused(tool, input, key)).code, 'forbidden', tool);
      }
    }
    assert.equal((await refused('get_record', { databaseId: mine.id, id: made.id }, forRecord)).code, 'forbidden');

    await must('delete_record', { databaseId: mine.id, id: made.id }, forDatabase);
    const [last] = (await must('list_versions', history(made.id), forDatabase)).data;
    const restored = await must('restore_version', { ...history(made.id), versionId: last.id }, forDatabase);
    assert.deepEqual([restored.kind, restored.revision], ['restore', 3]);
    assert.equal((await refused('list_versions', history(made.id), forRecord)).code, 'forbidden');
  });
});
