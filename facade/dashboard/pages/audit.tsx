import { LinkButton } from '../components/button.tsx';
import { ErrorBox } from '../components/error-box.tsx';
import { Badge, Empty, Mono, Time } from '../components/small.tsx';
import { Table } from '../components/table.tsx';
import { Skeleton } from '../components/waiting.tsx';
import { usePages } from '../pages-of.ts';
import { usePlace } from '../router.ts';
import { useTool } from '../tools.ts';

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly tool: string;
  readonly outcome: string;
  readonly door: string;
  readonly requestId: string;
  readonly principal: { readonly name: string };
}

export function Page() {
  const { query } = usePlace();
  const known = Object.keys(useTool('list_audit_entries')?.inputSchema.properties ?? {});
  const given = [...query].filter(([name]) => known.includes(name));
  const { rows, loading, error, more } = usePages<Entry>('list_audit_entries', {
    limit: 100,
    ...Object.fromEntries(given),
  });
  return (
    <div class="kind">
      <section class="list-pane">
        <header class="page-head">
          <h1>Audit</h1>
          {given.length > 0 && <LinkButton to="/audit">All entries</LinkButton>}
        </header>
        {error && <ErrorBox error={error} />}
        {rows.length > 0 ? (
          <Table
            label="Audit entries"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ id }) => id}
            onMore={more}
            loading={loading}
          />
        ) : loading ? (
          <Skeleton lines={6} />
        ) : (
          <Empty title="No entries match" />
        )}
      </section>
    </div>
  );
}

const COLUMNS = [
  { id: 'tool', title: 'Tool', cell: ({ tool }: Entry) => <Mono>{tool}</Mono> },
  { id: 'principal', title: 'Who', cell: ({ principal }: Entry) => principal.name },
  { id: 'outcome', title: 'Outcome', cell: ({ outcome }: Entry) => <Badge value={outcome} /> },
  { id: 'door', title: 'Door', cell: ({ door }: Entry) => door, spare: 2 as const },
  { id: 'requestId', title: 'Request', cell: ({ requestId }: Entry) => <Mono>{requestId}</Mono>, spare: 3 as const },
  { id: 'at', title: 'When', cell: ({ at }: Entry) => <Time at={at} />, end: true },
];
