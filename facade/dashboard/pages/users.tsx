import { money, useAnswer, usePagedList, useTool, wordOf } from '../app.ts';
import { kindPage } from '../kind/kind-page.tsx';
import type { Row } from '../kind/spec.ts';
import { Badge, type Column, Empty, ErrorBox, Fields, Mono, PagedTable, Skeleton, Table, Time } from '../ui.ts';

export const Page = kindPage('user', {
  subtitle: 'name',
  id: 'uid',
  idInput: 'userId',
  avatar: true,
  empty: 'Import the users of your product to see them here.',
  source: { label: 'Import users', to: '/import', needs: 'import_records' },
  tabs: ({ uid }) => [
    { id: 'billing', label: 'Billing', content: () => <Billing userId={String(uid)} /> },
    { id: 'websites', label: 'Websites', content: () => <Websites userId={String(uid)} /> },
    { id: 'timeline', label: 'Timeline', content: () => <Timeline userId={String(uid)} /> },
  ],
});

type Invoice = Readonly<{ id: string; total: number; currency: string; status: string; issuedAt: string }>;

/** As `get_user_billing` answers. */
interface BillingAnswer extends Row {
  readonly currency: string;
  readonly mrr: number;
  readonly lifetimeValue: number;
  readonly invoices: readonly Invoice[];
}

/** What a user pays, and the latest invoices. */
export function Billing({ userId }: { readonly userId: string }) {
  const schema = useTool('get_user_billing')?.outputSchema;
  const { data, error } = useAnswer<BillingAnswer>('get_user_billing', { userId });
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={6} />;
  const { uid: _, currency, invoices, mrr, lifetimeValue, ...rest } = data;
  const known = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
  const amounts = { mrr: money(mrr, currency, 2), lifetimeValue: money(lifetimeValue, currency, 2) };
  return (
    <div class="overview">
      <Fields record={{ ...known, ...amounts }} schema={schema} />
      {invoices.length > 0 && (
        <section class="block" aria-labelledby="invoices">
          <h2 id="invoices">Latest invoices</h2>
          <Table label="Latest invoices" columns={INVOICE_COLUMNS} rows={invoices} keyOf={({ id }) => id} />
        </section>
      )}
    </div>
  );
}

const INVOICE_COLUMNS: readonly Column<Invoice>[] = [
  { title: 'Invoice', cell: ({ id }) => <Mono>{id}</Mono>, spare: 1 },
  { title: 'Issued', cell: ({ issuedAt }) => <Time at={issuedAt} /> },
  { title: 'Status', cell: ({ status }) => <Badge value={status} /> },
  { title: 'Total', cell: ({ total, currency }) => money(total, currency, 2), end: true },
];

type OfUserProps = Readonly<{ userId: string }>;

/** The websites that a user made. */
export function Websites({ userId }: OfUserProps) {
  const pages = usePagedList<Website>('list_user_websites', { userId, limit: 100 });
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
  const pages = usePagedList<TimelineEntry>('get_user_timeline', { userId, limit: 100 });
  const none = <Empty title="Nothing is known of this user" />;
  return <PagedTable label="Timeline" columns={ENTRY_COLUMNS} pages={pages} lines={6} none={none} />;
}

type TimelineEntry = Readonly<{ id: string; at: string; type: string; title: string }>;

const ENTRY_COLUMNS: readonly Column<TimelineEntry>[] = [
  { title: 'What', cell: ({ title }) => title },
  { title: 'Kind', cell: ({ type }) => <Badge tone="plain">{wordOf(type.replace('.', ' '))}</Badge>, spare: 1 },
  { title: 'When', cell: ({ at }) => <Time at={at} />, end: true },
];
