import { useState } from 'preact/hooks';
import { act, text, useMay } from '../../app.ts';
import { MemberParts } from '../../components/form/groups.tsx';
import { Part } from '../../components/form/part.tsx';
import { changes, issuesOf, type Members, withoutEmpty } from '../../components/form/state.ts';
import type { Row } from '../../kind/spec.ts';
import type { JsonSchema } from '../../schema.ts';
import { Button, ConfirmDialog, Dialog, ErrorBox, Link, toast, useAction } from '../../ui.ts';

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

/** A record to make or to change, with the way to delete it. */
export function RecordDialog({
  databaseId,
  columns,
  record,
  onClose,
}: {
  readonly databaseId: string;
  readonly columns: readonly GridColumn[];
  readonly record: GridRecord | undefined;
  readonly onClose: () => void;
}) {
  const [values, setValues] = useState<Members>(record?.values ?? {});
  const action = useAction();
  const { busy, error } = action;
  const [deletes, setDeletes] = useState(false);
  const mayDelete = useMay('delete_record');
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
          {record && mayDelete && (
            <Button text={text.delete} look="alarm" icon="trash" onClick={() => setDeletes(true)} />
          )}
        </div>
      </form>
    </Dialog>
  );
}

function DeleteRecord({
  databaseId,
  record: { id, revision },
  onClose,
}: {
  readonly databaseId: string;
  readonly record: GridRecord;
  readonly onClose: () => void;
}) {
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

export type GridColumn = Readonly<{ name: string; type: string; required?: boolean }>;

export type GridRecord = Readonly<{ id: string; values: Row; revision: number }>;

export function columnsOf({ columns }: Row): readonly GridColumn[] {
  return Array.isArray(columns) ? columns : [];
}
