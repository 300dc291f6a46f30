import { money, useAnswer, useTool } from '../../app.ts';
import type { Row } from '../../kind/spec.ts';
import { Badge, type Column, ErrorBox, Fields, Mono, Skeleton, Table, Time } from '../../ui.ts';

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
