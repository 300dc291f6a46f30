import { usePages, wordOf } from '../../app.ts';
import { Badge, type Column, Empty, PagedTable, Time } from '../../ui.ts';

type OfUserProps = Readonly<{ userId: string }>;

/** The websites that a user made. */
export function Websites({ userId }: OfUserProps) {
  const pages = usePages<Website>('list_user_websites', { userId, limit: 100 });
  const none = <Empty title="This user has no website" />;
  return <PagedTable label="Websites" columns={WEBSITE_COLUMNS} pages={pages} lines={6} none={none} />;
}

type Website = Readonly<{ id: string; name: string; url: string; state: string; createdAt: string }>;

const WEBSITE_COLUMNS: readonly Column<Website>[] = [
  {
    title: 'Website',
    cell: ({ name, url }) => (
      <span class="name-words">
        <span class="name-title">{name}</span>
        <span class="name-more">{url}</span>
      </span>
    ),
  },
  { title: 'State', cell: ({ state }) => <Badge value={state} />, width: '8rem' },
  { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} />, end: true, spare: 1 },
];

/** What a user did and what happened to them, newest first. */
export function Timeline({ userId }: OfUserProps) {
  const pages = usePages<TimelineEntry>('get_user_timeline', { userId, limit: 100 });
  const none = <Empty title="Nothing is known of this user" />;
  return <PagedTable label="Timeline" columns={ENTRY_COLUMNS} pages={pages} lines={6} none={none} />;
}

type TimelineEntry = Readonly<{ id: string; at: string; type: string; title: string }>;

const ENTRY_COLUMNS: readonly Column<TimelineEntry>[] = [
  { title: 'What', cell: ({ title }) => title },
  { title: 'Kind', cell: ({ type }) => <Badge tone="plain">{wordOf(type.replace('.', ' '))}</Badge>, spare: 1 },
  { title: 'When', cell: ({ at }) => <Time at={at} />, end: true },
];
