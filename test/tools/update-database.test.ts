import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it } from 'node:test';
import { callsOf } from '../support/calls.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);

const columns = [
  { name: 'Name', type: 'string', required: true },
  { name: 'Size', type: 'number', required: false },
];
const leads = () => must('create_database', { name: 'Leads', columns });
const names = (database: { columns: { name: string }[] }) => database.columns.map(({ name }) => name);
const historyOf = (id: string) => ({ entityType: 'database-record', entityId: id });

describe('update_database', () => {
  it('renames the database, and changes nothing where nothing is new', async () => {
    const made = await leads();
    const renamed = await must('update_database', { id: made.id, name: 'Customers', description: 'All of them' });
    assert.deepEqual([renamed.name, renamed.description, renamed.revision], ['Customers', 'All of them', 2]);
    assert.deepEqual(renamed.columns, columns);
    assert.deepEqual(await must('update_database', { id: made.id, name: 'Customers' }), renamed);
    assert.deepEqual(await must('get_database', { id: made.id }), renamed);
    assert.equal(
      (await refused('update_database', { id: made.id, name: 'X', expectedRevision: 1 })).currentRevision,
      2,
    );
    assert.equal((await refused('update_database', { id: 'dbs_none', name: 'X' })).code, 'not_found');
  });

  it('gives columns new names that records and their history follow without being written', async () => {
    const { id } = await leads();
    const record = await must('create_record', { databaseId: id, values: { Name: 'Ada', Size: 3 } });
    const place = { databaseId: id, id: record.id };
    const renameColumns = [{ from: 'Name', to: 'Person' }];
    const database = await must('update_database', {
      id,
      renameColumns,
      addColumns: [{ name: 'Name', type: 'boolean' }],
    });
    assert.deepEqual(database.columns, [
      { name: 'Person', type: 'string', required: true },
      columns[1],
      { name: 'Name', type: 'boolean', required: false },
    ]);
    const after = await must('get_record', place);
    assert.deepEqual(after, { ...record, values: { Person: 'Ada', Size: 3 } });
    assert.deepEqual((await must('list_records', { databaseId: id })).data, [after]);

    const changed = await must('update_record', { ...place, values: { Name: true, Person: 'Ada L.' } });
    assert.deepEqual(changed.values, { Person: 'Ada L.', Size: 3, Name: true });
    const [second, first] = (await must('list_versions', historyOf(record.id))).data;
    assert.deepEqual(first.payload.values, { Person: 'Ada', Size: 3 });
    assert.deepEqual(JSON.parse(first.content).values, first.payload.values);
    for (const version of [first, second]) assert.equal(version.contentHash, hash('sha256', version.content));
    const versionPath = { ...historyOf(record.id), versionId: second.id };
    assert.deepEqual(await must('get_version', versionPath), second);
    const { changes } = await must('diff_version', versionPath);
    assert.deepEqual(pluck(changes, 'path').sort(), ['/values/Name', '/values/Person']);

    const restored = await must('restore_version', { ...historyOf(record.id), versionId: first.id });
    assert.deepEqual(restored.payload.values, { Person: 'Ada', Size: 3 });
    assert.deepEqual((await must('get_record', place)).values, { Person: 'Ada', Size: 3 });
    await must('delete_record', place);
    await must('restore_version', { ...historyOf(record.id), versionId: second.id });
    assert.deepEqual((await must('get_record', place)).values, changed.values);
  });

  it('swaps names, and takes a name back', async () => {
    const { id } = await leads();
    const record = await must('create_record', { databaseId: id, values: { Name: 'Ada', Size: 3 } });
    const swap = [
      { from: 'Name', to: 'Size' },
      { from: 'Size', to: 'Name' },
    ];
    assert.deepEqual(names(await must('update_database', { id, renameColumns: swap })), ['Size', 'Name']);
    const place = { databaseId: id, id: record.id };
    assert.deepEqual((await must('get_record', place)).values, { Size: 'Ada', Name: 3 });
    assert.deepEqual((await must('update_record', { ...place, values: { Name: 4 } })).values, { Size: 'Ada', Name: 4 });
    await must('update_database', { id, renameColumns: swap });
    assert.deepEqual((await must('get_record', place)).values, { Name: 'Ada', Size: 4 });
    assert.deepEqual(names(await must('update_database', { id, renameColumns: [{ from: 'Name', to: 'name' }] })), [
      'name',
      'Size',
    ]);
  });

  it('names who still writes by an old name the new one', async () => {
    const { id } = await leads();
    await must('update_database', { id, renameColumns: [{ from: 'Name', to: 'Person' }] });
    const { issues } = await refused('create_record', { databaseId: id, values: { Name: 'Ada' } });
    assert.deepEqual(issues, [{ path: 'values.Name', message: 'The column "Name" is called "Person" now.' }]);
    const filtered = await refused('list_records', { databaseId: id, filter: { Name: 'Ada' } });
    assert.match(filtered.error, /is called "Person" now/);
  });

  it('takes names whose accents are written in another way, and none of them twice', async () => {
    const [composed, apart] = ['Größe'.normalize('NFC'), 'Größe'.normalize('NFD')];
    const { id } = await must('create_database', { name: 'x', columns: [{ name: apart, type: 'number' }] });
    const record = await must('create_record', { databaseId: id, values: { [apart]: 1 } });
    assert.deepEqual(record.values, { [composed]: 1 });
    const list = (input: object) => must('list_records', { databaseId: id, ...input });
    assert.equal((await list({ filter: { [apart]: { gte: 1 } }, sort: { column: apart } })).data.length, 1);
    const twice = { [apart]: 1, [composed]: 2 };
    assert.equal((await refused('create_record', { databaseId: id, values: twice })).issues?.[0]?.path, 'values');
    assert.equal((await refused('list_records', { databaseId: id, filter: twice })).issues?.[0]?.path, 'filter');
    assert.deepEqual(names(await must('update_database', { id, renameColumns: [{ from: apart, to: 'Size' }] })), [
      'Size',
    ]);
  });

  it('refuses names that are unknown, taken or given twice, each by its place', async () => {
    const { id } = await leads();
    const problems = async (change: object) => {
      const { code, issues = [] } = await refused('update_database', { id, ...change });
      assert.equal(code, 'invalid_input');
      return issues.map(({ path }) => path);
    };
    const added = (...given: string[]) => ({ addColumns: given.map((name) => ({ name, type: 'string' })) });
    const renamed = (...pairs: [string, string][]) => ({ renameColumns: pairs.map(([from, to]) => ({ from, to })) });
    assert.deepEqual(await problems(renamed(['Nmae', 'X'])), ['renameColumns[0].from']);
    assert.deepEqual(await problems(renamed(['Name', 'X'], ['Name', 'Y'])), ['renameColumns[1].from']);
    assert.deepEqual(await problems(renamed(['Name', 'size'])), ['renameColumns[0].to']);
    assert.deepEqual(await problems(renamed(['Name', 'X'], ['Size', 'x'])), ['renameColumns[1].to']);
    assert.deepEqual(await problems(renamed(['Name', '1'])), ['renameColumns[0].to']);
    assert.deepEqual(await problems(added('name', 'Other', 'other')), ['addColumns[0].name', 'addColumns[2].name']);
    assert.deepEqual(await problems({ ...renamed(['Name', 'X']), ...added('x') }), ['addColumns[0].name']);
    const many = Array.from({ length: 99 }, (_, n) => `c${n}`);
    assert.deepEqual(await problems(added(...many)), ['addColumns']);
    assert.equal(names(await must('update_database', { id, ...added(...many.slice(1)) })).length, 100);
  });

  it('adds a required column only while no record lacks its value', async () => {
    const { id } = await leads();
    const addColumns = [{ name: 'Owner', type: 'string', required: true }];
    const record = await must('create_record', { databaseId: id, values: { Name: 'Ada' } });
    const { code, issues, error } = await refused('update_database', { id, addColumns });
    assert.deepEqual([code, issues?.[0]?.path], ['conflict', 'addColumns[0].required']);
    assert.match(error, /add it without/);
    await must('delete_record', { databaseId: id, id: record.id });
    await must('update_database', { id, addColumns });
    const [latest] = (await must('list_versions', historyOf(record.id))).data;
    const restore = await refused('restore_version', { ...historyOf(record.id), versionId: latest.id });
    assert.deepEqual([restore.code, /"Owner"/.test(restore.error)], ['conflict', true]);
  });

  it('loses nothing where several change a database at once', async () => {
    const { id } = await leads();
    const added = Array.from({ length: 8 }, (_, n) => ({ name: `c${n}`, type: 'string' }));
    await Promise.all(added.map((column) => must('update_database', { id, addColumns: [column] })));
    assert.deepEqual(
      names(await must('get_database', { id })).sort(),
      ['Name', 'Size', ...added.map(({ name }) => name)].sort(),
    );
  });
});
