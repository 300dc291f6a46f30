import { z } from 'zod';
import { type Column, type Database, database, databaseFields } from '../../resources/database.ts';
import { expectedRevision, pageOf, paging, recordId } from '../../resources/fields.ts';
import { CREATES, DELETES, defineTool, type Fail, READS } from '../define-tool.ts';
import { listPage, onlyThese } from '../paging.ts';
import { requireUnnamed } from '../references.ts';

const databaseId = recordId.describe('Database id (`dbs_…`), see list_databases.');

const listDatabases = defineTool({
  name: 'list_databases',
  title: 'List databases',
  description: 'List databases with their columns, newest first. Returns a page with `nextCursor`.',
  access: { scope: 'records:read', grant: 'record:read', narrows: true },
  annotations: READS,
  input: z.strictObject(paging),
  output: pageOf(database),
  errors: [],

  handler(input, { store, principal }) {
    const any = onlyThese<Database>(principal.rights.limitedTo('record', 'read'), 'id');
    return listPage(store.databases, input, { any }, (record) => record);
  },
});

const getDatabase = defineTool({
  name: 'get_database',
  title: 'Get database',
  description: 'Read one database with its columns. Its records are read with list_records.',
  access: { scope: 'records:read', grant: 'record:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: databaseId }),
  output: database,
  errors: ['not_found'],

  async handler({ id }, { store, fail }) {
    const found = await store.databases.get(id);
    if (!found) throw fail('not_found', `There is no database ${id}; list_databases shows the ones you can see.`);
    return found;
  },
});

const createDatabase = defineTool({
  name: 'create_database',
  title: 'Create database',
  description:
    'Create a database: a table whose records are checked against its columns. Columns stay as made. Returns it.',
  access: { scope: 'records:write', grant: 'record:write' },
  annotations: CREATES,
  input: z.strictObject({
    name: databaseFields.name,
    description: databaseFields.description.optional(),
    columns: databaseFields.columns,
  }),
  output: database,
  errors: [],

  async handler(input, { store, fail }) {
    requireDistinct(input.columns, fail);
    return store.databases.insert(input);
  },
});

const deleteDatabase = defineTool({
  name: 'delete_database',
  title: 'Delete database',
  description: 'Delete a database that holds no records. It cannot be brought back, nor can the records it once held.',
  access: { scope: 'records:write', grant: 'record:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: databaseId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, context) {
    await requireUnnamed(context, { databaseId: id }, 'databaseRecords');
    await context.store.databases.delete(id, { expectedRevision });
    return {};
  },
});

export const databaseTools = [listDatabases, getDatabase, createDatabase, deleteDatabase];

function requireDistinct(columns: readonly Column[], fail: Fail<never>): void {
  const names = columns.map(({ name }) => name.toLowerCase());
  const issues = names.flatMap((name, index) => {
    if (names.indexOf(name) === index) return [];
    return [{ path: `columns[${index}].name`, message: 'An earlier column has this name; choose another.' }];
  });
  if (issues[0]) throw fail('invalid_input', issues[0].message, { issues });
}
