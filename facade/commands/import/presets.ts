import { v5 } from 'uuid';
import type { RowType } from '../../../resources/imported-rows.ts';
import { unitsIn } from '../../../resources/minor-units.ts';

export type MappedRow = { readonly row: CsvRow } | { readonly leftOut: string } | { readonly problem: string };

export interface Preset {
  readonly type: RowType;
  readonly about: string;
  readonly needs: readonly string[];
  row(cells: CsvRow): CsvRow | { readonly leftOut: string };
}

/** Stripe's exports are CSV from its dashboard: amounts in major units, times in UTC without a zone. */
const STRIPE_STATES: Readonly<Record<string, string>> = {
  trialing: 'trialing',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'past_due',
  canceled: 'canceled',
};
const STRIPE_INVOICES: Readonly<Record<string, string>> = {
  paid: 'paid',
  open: 'open',
  void: 'void',
  uncollectible: 'void',
};

const PLAUSIBLE_COLUMNS = ['name', 'user_id', 'session_id', 'timestamp', 'pathname'];
const PAGE_VIEW = 'pageview';

export const presets: Readonly<Record<string, Preset>> = {
  'stripe-customers': {
    type: 'users',
    about: 'the customers export of Stripe; who has a plan that runs is PRO',
    needs: ['id', 'Email', 'Created (UTC)'],
    row: (cells) => ({
      uid: cells.id,
      email: cells.Email,
      name: cells.Name,
      status: STRIPE_STATES[text(cells.Status)] && cells.Status !== 'canceled' ? 'PRO' : 'FREE',
      plan: cells.Plan,
      createdAt: utc(cells['Created (UTC)']),
    }),
  },
  'stripe-subscriptions': {
    type: 'subscriptions',
    about: 'the subscriptions export of Stripe; those that never began are left out',
    needs: ['id', 'Customer ID', 'Plan', 'Amount', 'Currency', 'Interval', 'Status'],
    row(cells) {
      const status = STRIPE_STATES[text(cells.Status)];
      if (status === undefined) return { leftOut: `is ${text(cells.Status)}` };
      const currency = text(cells.Currency).toUpperCase();
      const canceledAt = utc(cells['Canceled At (UTC)']);
      return {
        id: cells.id,
        uid: cells['Customer ID'],
        plan: cells.Plan,
        amount: minor(cells.Amount, currency),
        currency,
        interval: cells.Interval,
        intervalCount: number(cells['Interval Count']),
        quantity: number(cells.Quantity),
        status,
        trialStart: utc(cells['Trial Start (UTC)']),
        trialEnd: utc(cells['Trial End (UTC)']),
        startedAt: utc(cells['Start Date (UTC)'] || cells['Start (UTC)'] || cells['Created (UTC)']),
        canceledAt,
        endedAt: utc(cells['Ended At (UTC)']) ?? (status === 'canceled' ? canceledAt : undefined),
      };
    },
  },
  'stripe-invoices': {
    type: 'invoices',
    about: 'the invoices export of Stripe; drafts are left out',
    needs: ['id', 'Customer', 'Total', 'Currency', 'Status', 'Date (UTC)'],
    row(cells) {
      const status = STRIPE_INVOICES[text(cells.Status)];
      if (status === undefined) return { leftOut: `is ${text(cells.Status)}` };
      const currency = text(cells.Currency).toUpperCase();
      return {
        id: cells.id,
        uid: cells.Customer,
        subscriptionId: cells.Subscription || undefined,
        total: minor(cells.Total, currency),
        tax: minor(cells.Tax || '0', currency),
        currency,
        status,
        issuedAt: utc(cells['Finalized At (UTC)'] || cells['Date (UTC)']),
        paidAt: utc(cells['Paid At (UTC)']),
      };
    },
  },
  'paddle-subscriptions': {
    type: 'subscriptions',
    about:
      'NDJSON of the subscriptions that the API of Paddle Billing lists (its CSV reports have none); the first item counts',
    needs: ['id', 'customer_id', 'items', 'billing_cycle', 'status'],
    row(cells) {
      const [item] = cells.items as readonly PaddleItem[]; // what the API lists
      const cycle = cells.billing_cycle as { readonly interval: string; readonly frequency: number }; // as above
      const status = cells.status === 'paused' ? 'canceled' : cells.status;
      const endedAt = present(cells.canceled_at ?? (status === 'canceled' ? cells.paused_at : undefined));
      return {
        id: cells.id,
        uid: cells.customer_id,
        plan: item?.price.name || item?.price.description || item?.price.id,
        amount: number(item?.price.unit_price.amount),
        currency: cells.currency_code,
        interval: cycle.interval,
        intervalCount: cycle.frequency,
        quantity: item?.quantity,
        status,
        trialStart: present(item?.trial_dates?.starts_at),
        trialEnd: present(item?.trial_dates?.ends_at),
        startedAt: cells.started_at || cells.created_at,
        canceledAt: endedAt,
        endedAt,
      };
    },
  },
  'plausible-events': {
    type: 'visits',
    about: 'the page views in the table events_v2 of a Plausible of your own (its CSV exports hold daily sums)',
    needs: PLAUSIBLE_COLUMNS,
    row(cells) {
      if (cells.name !== PAGE_VIEW) return { leftOut: `goal ${text(cells.name)}: plausible-goals imports it` };
      const at = utc(cells.timestamp);
      return {
        id: plausibleId([cells.user_id, cells.session_id, at, cells.pathname]),
        visitorId: text(cells.user_id),
        at,
        page: cells.pathname,
        referrer: present(cells.referrer),
        country: present(cells.country_code),
        device: present(cells.screen_size),
        browser: present(cells.browser),
        os: present(cells.operating_system),
      };
    },
  },
  'plausible-goals': {
    type: 'events',
    about: 'the goals and custom events in the same table of Plausible, each visitor being a user',
    needs: PLAUSIBLE_COLUMNS,
    row(cells) {
      if (cells.name === PAGE_VIEW) return { leftOut: 'page view: plausible-events imports it' };
      const at = utc(cells.timestamp);
      const names = texts(cells['meta.key']);
      const values = texts(cells['meta.value']);
      const properties = names.map((name, index) => [name, values[index] ?? ''] as const);
      return {
        id: plausibleId([cells.name, cells.user_id, cells.session_id, at, cells.pathname, ...names, ...values]),
        uid: text(cells.user_id),
        name: cells.name,
        at,
        properties: { page: text(cells.pathname), ...Object.fromEntries(properties) },
      };
    },
  },
};

/** A row whose members are of another kind than the preset takes is a problem of the row. */
export function rowBy({ row, needs }: Preset, cells: CsvRow): MappedRow {
  try {
    const made = row(cells);
    return 'leftOut' in made ? { leftOut: String(made.leftOut) } : { row: withoutEmpty(made) };
  } catch {
    return { problem: `The row does not have the form that the preset takes: ${needs.join(', ')}.` };
  }
}

/** The columns that the preset needs and the file lacks. Where it lacks any, it is another file. */
export function missingColumns({ needs }: Preset, cells: CsvRow): string[] {
  return needs.filter((column) => !Object.hasOwn(cells, column));
}

/** The namespace of ids that are made of what a row says, where Plausible has none. */
const PLAUSIBLE_IDS = 'ac591c0c-8cd0-5b68-9066-7aee12ac946b';

function plausibleId(parts: readonly unknown[]): string {
  return v5(parts.map(String).join(' '), PLAUSIBLE_IDS);
}

/** A list of texts: an array of JSON, or as ClickHouse writes it into CSV, `['plan','team']`. */
function texts(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String);
  return Array.from(text(value).matchAll(/'((?:[^'\\]|\\.)*)'/g), ([, inside = '']) => inside.replace(/\\(.)/g, '$1'));
}

interface PaddleItem {
  readonly quantity: number;
  readonly price: {
    readonly id: string;
    readonly name?: string | null;
    readonly description?: string;
    readonly unit_price: { readonly amount: string };
  };
  readonly trial_dates?: { readonly starts_at: string; readonly ends_at: string } | null;
}

function text(value: unknown): string {
  return value === undefined || value === null ? '' : String(value);
}

function present(value: unknown): unknown {
  return value === '' || value === null ? undefined : value;
}

/** The number, or the value as it is, so that the check of the row names it. */
function number(value: unknown): unknown {
  if (text(value) === '') return undefined;
  const found = Number(value);
  return Number.isNaN(found) ? value : found;
}

function minor(value: unknown, currency: string): unknown {
  const major = number(typeof value === 'string' ? value.replaceAll(',', '') : value);
  return typeof major === 'number' && /^[A-Z]{3}$/.test(currency) ? Math.round(major * unitsIn(currency)) : major;
}

/** `2026-03-01 09:30` and `2026-03-01 09:30:00` in UTC, in ISO 8601. */
function utc(value: unknown): unknown {
  const [, date, time] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d(?::\d\d(?:\.\d+)?)?)$/.exec(text(value)) ?? [];
  return date === undefined ? present(value) : `${date}T${time}Z`;
}

/** A row as the file has it: texts of a CSV file, values of the others. */
export type CsvRow = Readonly<Record<string, unknown>>;

export function withoutEmpty(cells: CsvRow): CsvRow {
  return Object.fromEntries(
    Object.entries(cells).filter(([, cell]) => cell !== '' && cell !== undefined && cell !== null),
  );
}
