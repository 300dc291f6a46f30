import { z } from 'zod';
import { hasPlainYear, isWebAddress, WEB_ADDRESS } from './fields.ts';
import { currency } from './locale.ts';

/** A time as source systems write it. The server stores it as a time in UTC. */
const time = z
  .string()
  .max(40)
  .refine(isTime, 'Write a time like 2026-03-01T09:30:00Z or a date like 2026-03-01 (midnight UTC).')
  .describe('ISO 8601 with Z or an offset, or a date (midnight UTC).');
const key = z.string().min(1).max(200);
const text = z.string().min(1).max(500);
const country = z.string().regex(/^[A-Z]{2}$/, 'Write an ISO 3166-1 code of two capitals, like DE.');
const minorUnits = z.int().describe('Minor units of `currency`, e.g. cents.');
const largest = 1_000_000_000_000;
/** A path, a URL or any other text that names where visitors come from, such as `android-app://…`. */
const address = z.string().max(2000);
const runsNothing = (text: string) => !/^[\s\p{Cc}]*(javascript|data|vbscript)\s*:/iu.test(text);
const NO_PROGRAM = 'May be no address that runs a program; write the path or an http or https URL.';

export const userStatus = z.enum(['PRO', 'FREE', 'LEGACY']);
export const websiteState = z.enum(['draft', 'published', 'suspended', 'deleted']);
export type WebsiteState = z.infer<typeof websiteState>;
const subscriptionStatus = z.enum(['trialing', 'active', 'past_due', 'canceled']);

const userRow = z
  .strictObject({
    uid: key,
    email: z.string().min(1).max(320),
    status: userStatus,
    plan: z.string().min(1).max(100).optional().describe('Name of the plan, e.g. Team. Any text.'),
    name: z.string().max(200).optional(),
    country: country.optional(),
    createdAt: time,
    deletedAt: time.optional(),
    paymentBrand: z.string().min(1).max(50).optional().describe('How the user pays, e.g. Visa.'),
    paymentLast4: z
      .string()
      .regex(/^[0-9]{4}$/, 'Write the last four digits, as text, like "0042"; never more of a number.')
      .optional(),
  })
  .refine((row) => (row.paymentBrand === undefined) === (row.paymentLast4 === undefined), {
    path: ['paymentLast4'],
    message: 'Give paymentBrand and paymentLast4 together, or neither.',
  });
export type UserRow = z.infer<typeof userRow>;

const subscriptionRow = z
  .strictObject({
    id: key,
    uid: key,
    plan: text,
    amount: minorUnits.min(0).max(largest),
    currency,
    interval: z.enum(['day', 'week', 'month', 'year']),
    intervalCount: z.int().min(1).max(1000).default(1),
    quantity: z.int().min(0).max(1_000_000).default(1),
    discountPercent: z.number().min(0).max(100).optional(),
    discountAmount: minorUnits.min(0).max(largest).optional().describe('Off each billing period, in minor units.'),
    discountEndsAt: time.optional(),
    status: subscriptionStatus,
    trialStart: time.optional(),
    trialEnd: time.optional(),
    startedAt: time,
    canceledAt: time.optional(),
    endedAt: time.optional(),
    effectiveAt: time
      .optional()
      .describe('Since when it is so. Default: startedAt at the first import, then the import.'),
  })
  .refine((row) => row.discountPercent === undefined || row.discountAmount === undefined, {
    path: ['discountAmount'],
    message: 'Give discountPercent or discountAmount, not both.',
  })
  .refine((row) => row.status !== 'canceled' || row.endedAt !== undefined || row.canceledAt !== undefined, {
    path: ['endedAt'],
    message: 'A canceled subscription has an end; give endedAt (or canceledAt, where it ended at once).',
  });
export type SubscriptionRow = z.infer<typeof subscriptionRow>;

const invoiceRow = z.strictObject({
  id: key,
  uid: key,
  subscriptionId: key.optional(),
  total: minorUnits.min(-largest).max(largest).describe('With tax, in minor units.'),
  tax: minorUnits.min(-largest).max(largest),
  currency,
  status: z.enum(['paid', 'open', 'void', 'refunded']),
  issuedAt: time,
  paidAt: time.optional(),
});
export type InvoiceRow = z.infer<typeof invoiceRow>;

const eventRow = z.strictObject({
  id: key,
  uid: key,
  name: z.string().min(1).max(200),
  at: time,
  properties: z
    .record(z.string().max(200), z.union([z.string().max(2000), z.number(), z.boolean(), z.null()]))
    .refine((properties) => Object.keys(properties).length <= 50, 'Has too many properties; give at most 50.')
    .optional()
    .describe('A flat object.'),
});
export type EventRow = z.infer<typeof eventRow>;

const visitRow = z.strictObject({
  id: key,
  visitorId: key,
  uid: key.optional(),
  at: time,
  page: address.min(1).refine(runsNothing, NO_PROGRAM),
  referrer: address.refine(runsNothing, NO_PROGRAM).optional(),
  channel: z.string().min(1).max(100).optional().describe('Derived from the referrer when absent.'),
  country: country.optional(),
  device: z.string().min(1).max(100).optional(),
  browser: z.string().min(1).max(100).optional(),
  os: z.string().min(1).max(100).optional(),
});
export type VisitRow = z.infer<typeof visitRow>;

const websiteRow = z.strictObject({
  id: key,
  uid: key,
  url: z.string().min(1).max(2000).refine(isWebAddress, WEB_ADDRESS),
  name: z.string().max(200),
  state: websiteState,
  createdAt: time,
  publishedAt: time.optional(),
  effectiveAt: time.optional().describe('Since when it is in this state. Default: its own times, else the import.'),
});
export type WebsiteRow = z.infer<typeof websiteRow>;

export const importedRows = {
  users: { schema: userRow, key: 'uid' },
  subscriptions: { schema: subscriptionRow, key: 'id' },
  invoices: { schema: invoiceRow, key: 'id' },
  events: { schema: eventRow, key: 'id' },
  visits: { schema: visitRow, key: 'id' },
  websites: { schema: websiteRow, key: 'id' },
} as const;
export type RowType = keyof typeof importedRows;
export const rowType = z.enum(Object.keys(importedRows) as [RowType, ...RowType[]]);

/** Names of all members that hold a time, over all types. */
export const TIME_MEMBERS: ReadonlySet<string> = new Set([
  'createdAt',
  'deletedAt',
  'discountEndsAt',
  'trialStart',
  'trialEnd',
  'startedAt',
  'canceledAt',
  'endedAt',
  'effectiveAt',
  'issuedAt',
  'paidAt',
  'at',
  'publishedAt',
]);

const TIME = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Whether the date exists. `Date.parse` alone reads 31 February as 3 March. */
function isTime(value: string): boolean {
  const parts = TIME.exec(value);
  if (!parts || !hasPlainYear(value)) return false;
  const [, year, month, day] = parts.map(Number);
  return new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day)).getUTCDate() === day;
}
