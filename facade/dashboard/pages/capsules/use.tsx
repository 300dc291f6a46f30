import { Badge, counted, Empty, ErrorBox, Link, Mono, Skeleton, Table, Time, useMay, usePages } from '../../commons.ts';
import type { Row } from '../../kind/spec.ts';

type Entry = Readonly<{ id: string; at: string; tool: string; outcome: string; requestId: string }>;

/** How much a capsule was used, and its newest calls, refused ones included. */
export function CapsuleUse({ row }: { readonly row: Row }) {
  const may = useMay('list_audit_entries');
  const { rows, loading, error, more } = usePages<Entry>(may ? 'list_audit_entries' : undefined, {
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
      {error && <ErrorBox error={error} />}
      {rows.length > 0 ? (
        <Table label="Calls" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} onMore={more} loading={loading} />
      ) : loading ? (
        <Skeleton lines={4} />
      ) : (
        <Empty title="Nobody has used it yet">Connect a client, then its calls stand here, refused ones too.</Empty>
      )}
    </div>
  );
}

const COLUMNS = [
  { id: 'tool', title: 'Tool', cell: ({ tool }: Entry) => <Mono>{tool}</Mono> },
  { id: 'outcome', title: 'Outcome', cell: ({ outcome }: Entry) => <Badge value={outcome} /> },
  {
    id: 'request',
    title: 'Request',
    cell: ({ requestId }: Entry) => <Link to={`/audit?requestId=${encodeURIComponent(requestId)}`}>Follow</Link>,
    spare: 2 as const,
  },
  { id: 'at', title: 'When', cell: ({ at }: Entry) => <Time at={at} />, end: true },
];
