import { useState } from 'preact/hooks';
import { act, counted, text, usePagedList } from '../app.ts';
import { asText } from '../components/as-text.ts';
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
  toast,
  useAction,
  Value,
} from '../ui.ts';

export const Page = kindPage('database', {
  subtitle: 'description',
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
  const pages = usePagedList<GridRecord>('list_records', { databaseId: row.id, limit: 100 });
  const [open, setOpen] = useState<GridRecord | 'new'>();
  const gridColumns: readonly Column<GridRecord>[] = [
    ...columns.map(({ name, type }) => ({
      title: name,
      end: type === 'number',
      cell: ({ values }: GridRecord) => <Cell value={values[name]} />,
    })),
    {
      title: '',
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
      <div class="grid">
        <PagedTable label="Records" columns={gridColumns} pages={pages} none={<Empty title="No records yet" />} />
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
