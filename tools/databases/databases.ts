import { z } from 'zod';
import { database, databaseFields, type StoredDatabase } from '../../resources/database.ts';
import { expectedRevision, pageOf, paging, recordId, sortBy } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { StaleRevision } from '../../store/errors.ts';
import { whereAllowed } from '../core/access/record-limit.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { requireUnreferenced } from '../core/registry/references.ts';
import { changedColumns, requireDistinct, showDatabase } from './columns.ts';

const databaseId = refTo('database', recordId).describe('Database id (`dbs_…`), see list_databases.');

const listDatabases = defineTool({
  name: 'list_databases',
  title: 'List databases',
  description: 'List databases with their columns, newest first. Returns a page with `nextCursor`.',
  keywords: 'own tables, spreadsheets, custom data, Airtable, collections, which tables do we keep, all custom tables',
  access: { scope: 'records:read', grant: 'record:read', narrows: true },
  annotations: READS,
  input: z.strictObject({ ...sortBy('name'), ...paging }),
  output: pageOf(database),
  errors: [],

  handler(input, { store, principal }) {
    const any = whereAllowed<StoredDatabase>(principal.rights.limitedTo('record', 'read'), 'id');
    return listPage(store.databases, input, { any }, showDatabase);
  },
});

const getDatabase = defineTool({
  name: 'get_database',
  title: 'Get database',
  description: 'Read one database with its columns. Its records are read with list_records.',
  keywords: 'columns of a table, schema, fields',
  access: { scope: 'records:read', grant: 'record:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: databaseId }),
  output: database,
  errors: ['not_found'],

  handler: async ({ id }, { store }) => showDatabase(await store.databases.read(id)),
});

const createDatabase = defineTool({
  name: 'create_database',
  title: 'Create database',
  description: 'Create a database: a table whose records are checked against its columns. Returns it.',
  keywords:
    'new table, spreadsheet, custom fields, Airtable base, list of leads, CRM table, make a table with columns, collect leads in a table',
  access: { scope: 'records:write', grant: 'record:write' },
  annotations: CREATES,
  input: z.strictObject({
    name: databaseFields.name,
    description: databaseFields.description.optional(),
    columns: databaseFields.columns,
  }),
  output: database,
  errors: [],

  async handler(input, { store }) {
    requireDistinct(input.columns);
    return showDatabase(await store.databases.insert(input));
  },
});

const updateDatabase = defineTool({
  name: 'update_database',
  title: 'Update database',
  description:
    'Rename a database or its columns, or append columns; records and their history follow a new name. The type and `required` of a column cannot change. Returns the database.',
  keywords: 'add a column, rename a column, change a table, add a column to a table',
  access: { scope: 'records:write', grant: 'record:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: databaseId,
    name: databaseFields.name.optional(),
    description: databaseFields.description.optional(),
    addColumns: databaseFields.addColumns
      .optional()
      .describe('Appended after the existing ones; a required one only while there are no records.'),
    renameColumns: z
      .array(z.strictObject({ from: z.string().normalize('NFC').max(100), to: databaseFields.columnName }))
      .max(100)
      .optional()
      .describe('Done all at once and before columns are added, so names can be swapped.'),
    expectedRevision,
  }),
  output: database,
  errors: ['not_found', 'conflict'],

  async handler({ id, addColumns = [], renameColumns = [], expectedRevision, ...change }, { store, fail }) {
    const current = await store.databases.read(id);
    if (expectedRevision !== undefined && expectedRevision !== current.revision) {
      throw new StaleRevision(current.revision);
    }
    const columns = changedColumns(current.columns, { renames: renameColumns, added: addColumns });
    const required = addColumns.find((column) => column.required);
    const records = required ? await store.databaseRecords.count({ where: { databaseId: id } }) : 0;
    if (required && records > 0) {
      const message = `The column "${required.name}" is required, but the database holds records, ${records} in all, that have no value for it; add it without \`required\`.`;
      throw fail('conflict', message, {
        issues: [{ path: `addColumns[${addColumns.indexOf(required)}].required`, message }],
      });
    }
    return showDatabase(await store.databases.update(id, { ...change, columns }));
  },
});

const deleteDatabase = defineTool({
  name: 'delete_database',
  title: 'Delete database',
  description: 'Delete a database that holds no records. It cannot be brought back, nor can the records it once held.',
  keywords: 'drop a table, remove a spreadsheet',
  access: { scope: 'records:write', grant: 'record:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: databaseId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, context) {
    await requireUnreferenced(context, 'database', id);
    await context.store.databases.delete(id, { expectedRevision });
    return {};
  },
});

export const databaseTools = [listDatabases, getDatabase, createDatabase, updateDatabase, deleteDatabase];

export const databaseKind = defineKind({
  type: 'database',
  collection: 'databases',
  list: listDatabases,
  get: getDatabase,
  update: updateDatabase,
  purge: 'alone',
});
