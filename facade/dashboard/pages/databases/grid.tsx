import { useState } from 'preact/hooks';
import { useMay, usePagedList } from '../../app.ts';
import { asText } from '../../components/as-text.ts';
import type { Row } from '../../kind/spec.ts';
import { Button, Empty, PagedTable, Value } from '../../ui.ts';
import { columnsOf, type GridRecord, RecordDialog } from './record-dialog.tsx';

/** The records of a database in its columns; a row opens for changing. */
export function Grid({ row }: { readonly row: Row }) {
  const columns = columnsOf(row);
  const pages = usePagedList<GridRecord>('list_records', { databaseId: row.id, limit: 100 });
  const [open, setOpen] = useState<GridRecord | 'new'>();
  const mayCreate = useMay('create_record');
  return (
    <section class="overview" aria-label="Records">
      <header class="section-head">
        <h2>Records</h2>
        {mayCreate && <Button text="New record" icon="plus" onClick={() => setOpen('new')} />}
      </header>
      <div class="grid">
        <PagedTable
          label="Records"
          columns={[
            ...columns.map(({ name, type }) => ({
              title: name,
              end: type === 'number',
              cell: ({ values }: GridRecord) => <Cell value={values[name]} />,
            })),
            {
              title: '',
              end: true,
              cell: (record: GridRecord) => (
                <Button look="quiet" icon="edit" label={`Open ${record.id}`} onClick={() => setOpen(record)} />
              ),
            },
          ]}
          pages={pages}
          none={<Empty title="No records yet" />}
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

const LONGEST = 60;

/** Nested values in one line, so that every row is as high as the others; whole on pointing at them. */
function Cell({ value }: { readonly value: unknown }) {
  if (typeof value !== 'object' || value === null) return <Value value={value} />;
  const words = asText(value);
  const line = words.replaceAll(/\n\s*/g, ' · ');
  return <span title={words}>{line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line}</span>;
}
