import { counted, useMay, usePagedList } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { Badge, type Column, Empty, Link, Mono, PagedTable, Time } from '../../ui.ts';

type Entry = Readonly<{ id: string; at: string; tool: string; outcome: string; requestId: string }>;

/** How much a capsule was used, and its newest calls, refused ones included. */
export function CapsuleUse({ row }: { readonly row: Row }) {
  const may = useMay('list_audit_entries');
  const pages = usePagedList<Entry>(may ? 'list_audit_entries' : undefined, {
    principal: String(row.id),
    limit: 50,
  });
  return (
    <div class="overview">
      <p>
        <strong>{counted(Number(row.callCount ?? 0), 'call')}</strong>
        {row.lastUsedAt ? (
          <span class="quiet">
            , the last <Time at={String(row.lastUsedAt)} />
          </span>
        ) : null}
      </p>
      <PagedTable
        label="Calls"
        columns={COLUMNS}
        pages={pages}
        none={
          <Empty title="Nobody has used it yet">Connect a client, then its calls stand here, refused ones too.</Empty>
        }
      />
    </div>
  );
}

const COLUMNS: readonly Column<Entry>[] = [
  { title: 'Tool', cell: ({ tool }) => <Mono>{tool}</Mono> },
  { title: 'Outcome', cell: ({ outcome }) => <Badge value={outcome} /> },
  {
    title: 'Request',
    cell: ({ requestId }) => <Link to={`/audit?requestId=${encodeURIComponent(requestId)}`}>Follow</Link>,
    spare: 2,
  },
  { title: 'When', cell: ({ at }) => <Time at={at} />, end: true },
];
