import type {
  EventRow,
  InvoiceRow,
  RowType,
  SubscriptionRow,
  UserRow,
  VisitRow,
  WebsiteRow,
} from '../../resources/imported-rows.ts';
import type { NewLoggedRow } from '../../store/port.ts';
import { iso } from './span.ts';

/** A row and when the source system came to know of it. */
export interface Statement {
  readonly type: RowType;
  readonly time: number;
  readonly row: NewLoggedRow['row'];
}

interface RowOf {
  users: UserRow;
  subscriptions: SubscriptionRow;
  invoices: InvoiceRow;
  events: EventRow;
  visits: VisitRow;
  websites: WebsiteRow;
}

/** The row must be as an import would keep it: complete, times in UTC with milliseconds. */
export function statement<Type extends RowType>(type: Type, time: number, row: RowOf[Type]): Statement {
  return { type, time, row: { ...row } };
}

/** What was known by the time, in the order in which it came to be known. */
export function loggedBy(now: number, statements: readonly Statement[]): NewLoggedRow[] {
  return statements
    .filter(({ time }) => time <= now)
    .sort((a, b) => a.time - b.time)
    .map(({ type, time, row }) => ({ type, at: iso(time), row }));
}
