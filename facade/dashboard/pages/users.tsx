import type { z } from 'zod';
import type { TimelineEntry, userBilling, userWebsite } from '../../../resources/product-user.ts';
import { money, useAnswer, usePagedList, useTool, wordOf } from '../app.ts';
import { kindPage } from '../kind/kind-page.tsx';
import {
  Badge,
  type Column,
  Empty,
  ErrorBox,
  Fields,
  Mono,
  NameAndMore,
  PagedTable,
  Skeleton,
  Table,
  Time,
} from '../ui.ts';

export const Page = kindPage('user', {
  subtitle: 'name',
  id: 'uid',
  idInput: 'userId',
  avatar: true,
  empty: 'Import the users of your product to see them here.',
  source: { text: 'Import users', to: '/import', needs: 'import_records' },
  tabs: ({ uid }) => [
    { id: 'billing', label: 'Billing', content: () => <Billing userId={String(uid)} /> },
    { id: 'websites', label: 'Websites', content: () => <Websites userId={String(uid)} /> },
    { id: 'timeline', label: 'Timeline', content: () => <Timeline userId={String(uid)} /> },
  ],
});

type BillingAnswer = z.infer<typeof userBilling>;
type Invoice = BillingAnswer['invoices'][number];
type Website = z.infer<typeof userWebsite>;

function Billing({ userId }: { readonly userId: string }) {
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
  { title: 'Invoice', cell: ({ id }) => <Mono>{id}</Mono>, hidePriority: 1 },
  { title: 'Issued', cell: ({ issuedAt }) => <Time at={issuedAt} /> },
  { title: 'Status', cell: ({ status }) => <Badge value={status} /> },
  { title: 'Total', cell: ({ total, currency }) => money(total, currency, 2), alignEnd: true },
];

function Websites({ userId }: { readonly userId: string }) {
  const pages = usePagedList<Website>('list_user_websites', { userId, limit: 100 });
  const none = <Empty title="This user has no website" />;
  return <PagedTable label="Websites" columns={WEBSITE_COLUMNS} pages={pages} lines={6} none={none} />;
}

const WEBSITE_COLUMNS: readonly Column<Website>[] = [
  {
    title: 'Website',
    cell: ({ name, url }) => <NameAndMore name={name}>{url}</NameAndMore>,
  },
  { title: 'State', cell: ({ state }) => <Badge value={state} />, width: '8rem' },
  { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} />, alignEnd: true, hidePriority: 1 },
];

function Timeline({ userId }: { readonly userId: string }) {
  const pages = usePagedList<TimelineEntry>('get_user_timeline', { userId, limit: 100 });
  const none = <Empty title="Nothing is known of this user" />;
  return <PagedTable label="Timeline" columns={ENTRY_COLUMNS} pages={pages} lines={6} none={none} />;
}

const ENTRY_COLUMNS: readonly Column<TimelineEntry>[] = [
  { title: 'What', cell: ({ title }) => title },
  { title: 'Kind', cell: ({ type }) => <Badge tone="plain">{wordOf(type.replace('.', ' '))}</Badge>, hidePriority: 1 },
  { title: 'When', cell: ({ at }) => <Time at={at} />, alignEnd: true },
];
