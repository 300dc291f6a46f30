import { useState } from 'preact/hooks';
import type { ColumnType } from '../../../resources/database.ts';
import { act, counted, setQuery, text, useDebounced, useLocation, usePagedList } from '../app.ts';
import { asText } from '../components/as-text.ts';
import { FilterChoice } from '../components/filters.tsx';
import { FindInput } from '../components/find-input.tsx';
import { MemberParts } from '../components/form/groups.tsx';
import { Part } from '../components/form/part.tsx';
import { changes, issuesOf, type Members, withoutEmpty } from '../components/form/state.ts';
import { kindPage, type Row, timeColumn } from '../kind/kind-page.tsx';
import type { JsonSchema } from '../schema.ts';
import {
  Button,
  type Column,
  ConfirmDialog,
  Dialog,
  Empty,
  ErrorBox,
  Link,
  PagedTable,
  type Sorting,
  toast,
  useAction,
  Value,
} from '../ui.ts';

const COLUMN_TYPES: Readonly<Record<ColumnType, string>> = {
  string: 'Text',
  number: 'Number',
  boolean: 'Yes or no',
  'date-time': 'Date and time',
  json: 'Anything (JSON)',
};

export const Page = kindPage('database', {
  subtitle: 'description',
  fields: {
    name: { hint: 'Like Partners.' },
    description: { label: 'What it is for', hint: 'Agents read it to know when to look here.' },
    columns: {},
    'columns.name': { hint: 'Begins with a letter, like first_order.' },
    'columns.type': { label: 'Holds', options: COLUMN_TYPES },
    'columns.required': { label: 'Always filled in' },
  },
  makes: {
    title: 'New database',
    action: 'Create database',
    intro: 'A table with columns of your choice. Agents and people fill it; what does not fit its columns is refused.',
  },
  empty: 'A database is a table with columns of your choice.',
  columns: [
    { title: 'Columns', cell: (row: Row) => counted(columnsOf(row).length, 'column'), hidePriority: 2, width: '10rem' },
    timeColumn('updatedAt', 'Changed'),
  ],
  without: ['columns'],
  below: Grid,
  loss: () => 'All its records are deleted with it.',
});

function Grid({ row }: { readonly row: Row }) {
  const columns = columnsOf(row);
  const sorting = useSorting();
  const { by: column, isDescending } = sorting;
  const isColumn = columns.some(({ name, type }) => name === column && type !== 'json');
  const sort = isColumn && { sort: { column, direction: isDescending ? 'desc' : 'asc' } };
  const { filter, input } = useRecordFilter(columns);
  const pages = usePagedList<GridRecord>('list_records', { databaseId: row.id, limit: 100, ...sort, ...input });
  const [open, setOpen] = useState<GridRecord | 'new'>();
  const gridColumns: readonly Column<GridRecord>[] = [
    ...columns.map(({ name, type }) => ({
      title: name,
      alignEnd: type === 'number',
      sorts: type !== 'json',
      cell: ({ values }: GridRecord) => <Cell value={values[name]} />,
    })),
    {
      title: 'Open',
      alignEnd: true,
      cell: (record) => <Button look="quiet" icon="edit" label={`Open ${record.id}`} onClick={() => setOpen(record)} />,
    },
  ];
  return (
    <section class="overview" aria-label="Records">
      <header class="section-head">
        <h2>Records</h2>
        <Button needs="create_record" text="New record" icon="plus" onClick={() => setOpen('new')} />
      </header>
      {filter}
      <div class="grid">
        <PagedTable
          label="Records"
          columns={gridColumns}
          pages={pages}
          sorting={sorting}
          none={<Empty title={input ? 'No records match' : 'No records yet'} />}
        />
      </div>
      {open && (
        <RecordDialog
          databaseId={String(row.id)}
          columns={columns}
          record={open === 'new' ? undefined : open}
          onClose={() => setOpen(undefined)}
        />
      )}
    </section>
  );
}

/** Finds records by a part of what one column of text holds. Both stand in the address. */
function useRecordFilter(columns: readonly GridColumn[]) {
  const { query } = useLocation();
  const names = columns.filter(({ type }) => type === 'string').map(({ name }) => name);
  const typed = query.get('holds') ?? '';
  const contains = useDebounced(typed.trim());
  const [first] = names;
  if (first === undefined) return { filter: undefined, input: undefined };
  const column = names.find((name) => name === query.get('column')) ?? first;
  const filter = (
    <div class="filters">
      <FindInput label={`Filter by ${column}`} value={typed} onType={(holds) => setQuery({ holds })} />
      {names.length > 1 && (
        <FilterChoice
          name="column"
          label={first}
          options={names.filter((name) => name !== first).map((name) => ({ value: name, label: name }))}
        />
      )}
    </div>
  );
  return { filter, input: contains === '' ? undefined : { filter: { [column]: { contains } } } };
}

/** The column in the address by which records are sorted: from the least, then from the greatest, then the newest first again. */
function useSorting(): Sorting {
  const { query } = useLocation();
  const by = query.get('sort') ?? undefined;
  const isDescending = query.get('order') === 'desc';
  const onSort = (title: string) => {
    const next = by !== title ? { sort: title } : isDescending ? {} : { sort: title, order: 'desc' };
    setQuery({ sort: undefined, order: undefined, ...next }, { replace: false });
  };
  return { by, isDescending, onSort };
}

const LONGEST = 60;

/** Nested values in one line, so that every row is as high as the others; whole on pointing at them. */
function Cell({ value }: { readonly value: unknown }) {
  if (typeof value !== 'object' || value === null) return <Value value={value} />;
  const words = asText(value);
  const line = words.replaceAll(/\n\s*/g, ' · ');
  return <span title={words}>{line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line}</span>;
}

const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  string: { type: 'string' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  'date-time': { type: 'string', format: 'date-time' },
  json: {},
};

/** The values as a form, made from the columns. A value that is taken away is cleared by null. */
function schemaOf(columns: readonly GridColumn[]): JsonSchema {
  const properties = columns.map(({ name, type, required }) => {
    const schema = SCHEMAS[type] ?? {};
    return [name, { title: name, ...(required ? schema : { anyOf: [schema, { type: 'null' }] }) }] as const;
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: columns.filter(({ required }) => required).map(({ name }) => name),
  };
}

interface RecordDialogProps {
  readonly databaseId: string;
  readonly columns: readonly GridColumn[];
  readonly record: GridRecord | undefined;
  readonly onClose: () => void;
}

function RecordDialog({ databaseId, columns, record, onClose }: RecordDialogProps) {
  const [values, setValues] = useState<Members>(record?.values ?? {});
  const action = useAction();
  const { busy, error } = action;
  const [deletes, setDeletes] = useState(false);
  const schema = schemaOf(columns);
  const run = async (tool: string, input: Members) => {
    const named = { databaseId, ...(record && { id: record.id, expectedRevision: record.revision }) };
    if (await action.run(() => act(tool, { ...named, ...input }))) onClose();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (record) void run('update_record', { values: changes(record.values, values, schema) });
    else void run('create_record', { values: withoutEmpty(values, schema) });
  };
  if (record && deletes) return <DeleteRecord databaseId={databaseId} record={record} onClose={onClose} />;
  return (
    <Dialog title={record ? 'Record' : 'New record'} size="m" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <MemberParts
          schema={schema}
          path="values"
          value={values}
          issues={issuesOf(error)}
          onChange={setValues}
          part={Part}
        />
        {error !== undefined && <ErrorBox error={error} />}
        <div class="actions form-actions">
          <Button text={record ? text.save : text.create} type="submit" look="primary" busy={busy} />
          <Button text={text.cancel} onClick={onClose} />
          {record && (
            <Button
              needs="delete_record"
              text={text.delete}
              look="alarm"
              icon="trash"
              onClick={() => setDeletes(true)}
            />
          )}
        </div>
      </form>
    </Dialog>
  );
}

type DeleteRecordProps = Readonly<{ databaseId: string; record: GridRecord; onClose: () => void }>;

function DeleteRecord({ databaseId, record: { id, revision }, onClose }: DeleteRecordProps) {
  const run = async () => {
    await act('delete_record', { databaseId, id, expectedRevision: revision });
    toast(
      <>
        The record is deleted. <Link to={`/history/database-record/${encodeURIComponent(id)}`}>Restore it</Link>
      </>,
    );
  };
  return (
    <ConfirmDialog title="Delete the record?" action="Delete record" run={run} onClose={onClose}>
      <p>Its versions stay, so it can be restored.</p>
    </ConfirmDialog>
  );
}

type GridColumn = Readonly<{ name: string; type: string; required?: boolean }>;

type GridRecord = Readonly<{ id: string; values: Row; revision: number }>;

function columnsOf({ columns }: Row): readonly GridColumn[] {
  return Array.isArray(columns) ? columns : [];
}
