import { Badge, type Column, Empty, ErrorBox, Skeleton, Table, Time, usePages, wordOf } from '../../commons.ts';

type OfUserProps = Readonly<{ userId: string }>;

interface ListProps<Row> extends OfUserProps {
  readonly tool: string;
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** Said where there is nothing. */
  readonly none: string;
}

function ListOfUser<Row extends { readonly id: string }>({ userId, tool, label, columns, none }: ListProps<Row>) {
  const { rows, loading, error, more } = usePages<Row>(tool, { userId, limit: 100 });
  if (error) return <ErrorBox error={error} />;
  if (rows.length === 0) return loading ? <Skeleton lines={6} /> : <Empty title={none} />;
  return <Table label={label} columns={columns} rows={rows} keyOf={({ id }) => id} onMore={more} loading={loading} />;
}

/** The websites that a user made. */
export function Websites({ userId }: OfUserProps) {
  return (
    <ListOfUser
      userId={userId}
      tool="list_user_websites"
      label="Websites"
      columns={WEBSITE_COLUMNS}
      none="This user has no website"
    />
  );
}

type Website = Readonly<{ id: string; name: string; url: string; state: string; createdAt: string }>;

const WEBSITE_COLUMNS: readonly Column<Website>[] = [
  {
    id: 'name',
    title: 'Website',
    cell: ({ name, url }) => (
      <span class="name-words">
        <span class="name-title">{name}</span>
        <span class="name-more">{url}</span>
      </span>
    ),
  },
  { id: 'state', title: 'State', cell: ({ state }) => <Badge value={state} />, width: '8rem' },
  { id: 'created', title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} />, end: true, spare: 1 },
];

/** What a user did and what happened to them, newest first. */
export function Timeline({ userId }: OfUserProps) {
  return (
    <ListOfUser
      userId={userId}
      tool="get_user_timeline"
      label="Timeline"
      columns={ENTRY_COLUMNS}
      none="Nothing is known of this user"
    />
  );
}

type TimelineEntry = Readonly<{ id: string; at: string; type: string; title: string }>;

const ENTRY_COLUMNS: readonly Column<TimelineEntry>[] = [
  { id: 'title', title: 'What', cell: ({ title }) => title },
  {
    id: 'type',
    title: 'Kind',
    cell: ({ type }) => <Badge tone="plain">{wordOf(type.replace('.', ' '))}</Badge>,
    spare: 1,
  },
  { id: 'at', title: 'When', cell: ({ at }) => <Time at={at} />, end: true },
];
