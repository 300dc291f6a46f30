import { z } from 'zod';
import { type DatabaseRecord, databaseFields, databaseRecord } from '../../resources/database.ts';
import { expectedRevision, pageOf, paging, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { NAME } from '../core/access/guarded-tool.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { withoutBookkeeping } from '../core/history/history.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, type Fail, READS, UPDATES } from '../core/registry/define-tool.ts';
import { LARGEST_PAGE, listPage } from '../core/registry/paging.ts';
import { restoreWithReferences } from '../core/registry/references.ts';
import { byName, keyOf, showRecord, type Values } from './columns.ts';
import { recordQuery } from './record-query.ts';
import { scanRecords } from './scan-limit.ts';
import { changedValues, newValues } from './values.ts';

const databaseId = refTo('database', recordId).describe('Database id (`dbs_…`), see list_databases.');
const one = { databaseId, id: refTo('database-record', recordId).describe('Record id (`rec_…`), see list_records.') };
const { values } = databaseFields;

const listRecords = defineTool({
  name: 'list_records',
  title: 'List records',
  description:
    'List the records of a database: newest first, or by a column with `sort`; all, or those that meet `filter`. Returns a page with `nextCursor`.',
  keywords:
    'rows of a table, entries, filter and sort rows, query a table, look up in a spreadsheet, show rows of a table, read a table',
  access: { scope: 'records:read', grant: 'record:read', narrows: true, selects: { databaseId: NAME } },
  annotations: READS,
  input: z.strictObject({
    databaseId,
    filter: databaseFields.values
      .optional()
      .describe(
        'By column: a value (null: none), or operators `eq`, `ne`, `lt`, `lte`, `gt`, `gte`, `contains` (text, in any case), e.g. {"Size": {"gte": 5}}. All must hold.',
      ),
    sort: z
      .strictObject({ column: z.string().max(100), direction: z.enum(['asc', 'desc']).default('asc') })
      .optional()
      .describe('Records without a value come last, equal ones newest first.'),
    ...paging,
  }),
  output: pageOf(databaseRecord),
  errors: ['not_found'],

  async handler({ databaseId, filter, sort, ...input }, { store, principal, signal }) {
    const limit = principal.rights.limitedTo('record', 'read');
    const any = whereAllowed<DatabaseRecord>(limit, 'id', 'databaseId');
    const where = { databaseId };
    const isWhole = !limit || limit.names?.includes(databaseId) === true;
    const isKnown = isWhole || (await store.databaseRecords.count({ where, any })) > 0;
    const found = isKnown ? await store.databases.read(databaseId) : undefined;
    if (!found) return { data: [], nextCursor: null, ...(input.includeTotal && { total: 0 }) };
    const show = (record: DatabaseRecord) => showRecord(found.columns, record);
    if (!filter && !sort) return listPage(store.databaseRecords, input, { where, any }, show, LARGEST_PAGE);
    const query = recordQuery(found.columns, filter ?? {}, sort);
    const asked = { ...input, where, any, query, bound: { where, any, filter, sort } };
    return scanRecords(store.databaseRecords, asked, show, signal);
  },
});

const getRecord = defineTool({
  name: 'get_record',
  title: 'Get record',
  description: 'Read one record of a database.',
  keywords: 'one row, an entry of a table',
  access: { scope: 'records:read', grant: 'record:read:{id}', selects: { databaseId: NAME } },
  annotations: READS,
  input: z.strictObject(one),
  output: databaseRecord,
  errors: ['not_found'],

  async handler(input, { store, fail }) {
    const { columns } = await store.databases.read(input.databaseId);
    return showRecord(columns, await findRecord(store, input, fail));
  },
});

const createRecord = defineTool({
  name: 'create_record',
  title: 'Create record',
  description: 'Add a record to a database; its values must fit the columns, see get_database. Returns it.',
  keywords: 'add a row, insert, new entry, append to a table, add a row to a table',
  access: { scope: 'records:write', grant: 'record:write:{databaseId}' },
  annotations: CREATES,
  input: z.strictObject({ databaseId, values: values.describe('By column.') }),
  output: databaseRecord,
  errors: ['not_found'],

  async handler({ databaseId, values }, { store }) {
    const { columns } = await store.databases.read(databaseId);
    return showRecord(columns, await store.databaseRecords.insert({ databaseId, values: newValues(columns, values) }));
  },
});

const updateRecord = defineTool({
  name: 'update_record',
  title: 'Update record',
  description:
    'Change values of a record, others stay; null clears that of an optional column. Returns the record. History keeps the old state.',
  keywords:
    'change a row, edit a cell, correct a value in a table, correct a value in a table, change a phone number in a table',
  access: { scope: 'records:write', grant: 'record:write:{id}', selects: { databaseId: NAME } },
  annotations: UPDATES,
  input: z.strictObject({ ...one, values: values.describe('By column.'), expectedRevision }),
  output: databaseRecord,
  errors: ['not_found', 'conflict'],

  async handler({ databaseId, id, values, expectedRevision }, { store, fail }) {
    const current = await findRecord(store, { databaseId, id }, fail);
    const { columns } = await store.databases.read(databaseId);
    const change = { values: changedValues(columns, current.values, values) };
    return showRecord(columns, await store.databaseRecords.update(id, change, { expectedRevision }));
  },
});

const deleteRecord = defineTool({
  name: 'delete_record',
  title: 'Delete record',
  description: 'Delete a record of a database; restore_version brings it back while the database is there.',
  keywords: 'remove a row, delete an entry of a table',
  access: { scope: 'records:write', grant: 'record:delete:{id}', selects: { databaseId: NAME } },
  annotations: DELETES,
  input: z.strictObject({ ...one, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ databaseId, id, expectedRevision }, { store, fail }) {
    await findRecord(store, { databaseId, id }, fail);
    await store.databaseRecords.delete(id, { expectedRevision });
    return {};
  },
});

export const recordTools = [listRecords, getRecord, createRecord, updateRecord, deleteRecord];

export const databaseRecordKind = defineKind({
  type: 'database-record',
  noun: 'record',
  collection: 'databaseRecords',
  list: listRecords,
  get: getRecord,
  update: updateRecord,
  delete: deleteRecord,
  names: ['id', 'databaseId'],
  refersTo: { databaseId: 'database' },
  event: { name: 'record', words: 'A record of a database' },
  history: {
    payload: withoutBookkeeping,

    async shown(payload, store) {
      const found = await store.databases.get(String(payload.databaseId));
      return found ? { ...payload, values: byName(found.columns, payload.values as Values) } : payload; // the payload of a record of this kind
    },

    async prepareRestore(state, current, context) {
      const restored = await restoreWithReferences(state, current, context);
      const found = await context.store.databases.get(state.databaseId);
      const missing = found?.columns.find((column) => column.required && state.values[keyOf(column)] === undefined);
      if (!missing) return restored;
      throw context.fail(
        'conflict',
        `The column "${missing.name}" needs a value, and this version is older than the column; create the record anew with create_record.`,
      );
    },
  },
  purge: 'alone',
});

async function findRecord(
  store: Readers,
  { databaseId, id }: { readonly databaseId: string; readonly id: string },
  fail: Fail<'not_found'>,
): Promise<DatabaseRecord> {
  const found = await store.databaseRecords.get(id);
  if (found?.databaseId === databaseId) return found;
  throw fail('not_found', `The database ${databaseId} has no record ${id}; list_records shows those it has.`);
}
