import type {
  EventRow,
  InvoiceRow,
  RowType,
  SubscriptionRow,
  UserRow,
  VisitRow,
  WebsiteRow,
} from '../../../resources/imported-rows.ts';
import type { LoggedRow, RowLog } from '../../../store/port.ts';
import { EventTable } from './events.ts';
import { States } from './states.ts';
import { Labels } from './tables.ts';
import { UserDirectory } from './user-directory.ts';
import { VisitTable } from './visits.ts';

const STEP = 5000;

/** A row of a type, as the log holds it: parsed by the schema of the type when it was imported. */
export type TypedRow =
  | { readonly type: 'users'; readonly row: UserRow }
  | { readonly type: 'subscriptions'; readonly row: SubscriptionRow }
  | { readonly type: 'invoices'; readonly row: InvoiceRow }
  | { readonly type: 'events'; readonly row: EventRow }
  | { readonly type: 'visits'; readonly row: VisitRow }
  | { readonly type: 'websites'; readonly row: WebsiteRow };

export type Known = 'new' | 'changed' | 'same';

/** What all imported rows amount to: the log folded in its order, kept in memory and brought up to date before it is used. */
export class Model {
  readonly users = new UserDirectory();
  readonly subscriptions = new Map<string, States<SubscriptionRow>>();
  readonly invoices = new Map<string, InvoiceRow>();
  readonly websites = new Map<string, States<WebsiteRow>>();
  readonly uids = new Labels();
  readonly events = new EventTable(this.uids);
  readonly visits = new VisitTable(this.uids);
  /** Ids of the records of a user, by type. */
  readonly owned = { subscriptions: new Owned(), invoices: new Owned(), websites: new Owned() };
  /** Grows with every row: what was worked out from the model holds as long as it stays. */
  version = 0;
  /** The same for subscriptions alone. */
  subscriptionsVersion = 0;
  /** How many rows the log holds. */
  rows = 0;
  /** Positions of those without which the model would be the same: later rows replaced them. */
  superseded: number[] = [];
  /** When the first of them was replaced. */
  supersededSince: string | undefined;
  readonly #invoicePositions = new Map<string, number>();

  knows({ type, row }: TypedRow): Known {
    if (type === 'events') return this.events.knows(row);
    if (type === 'visits') return this.visits.knows(row);
    if (type === 'subscriptions') return knownState(this.subscriptions.get(row.id), row);
    if (type === 'websites') return knownState(this.websites.get(row.id), row);
    const before = type === 'users' ? this.users.get(row.uid) : this.invoices.get(row.id);
    if (!before) return 'new';
    return JSON.stringify(before) === JSON.stringify(row) ? 'same' : 'changed';
  }

  put(typed: TypedRow, position: number, at: string): void {
    this.version += 1;
    this.rows += 1;
    const gone = this.#put(typed, position, at);
    if (gone === undefined) return;
    this.superseded.push(gone);
    this.supersededSince ??= at;
  }

  /** Returns the position of the row that no longer matters. */
  #put({ type, row }: TypedRow, position: number, at: string): number | undefined {
    if (type === 'events') return this.events.put(row, position);
    if (type === 'visits') return this.visits.put(row, position);
    if (type === 'users') return this.users.put(row, position);
    if (type === 'subscriptions') return this.#putSubscription(row, position, at);
    if (type === 'websites') return this.#putWebsite(row, position, at);
    const before = this.#invoicePositions.get(row.id);
    this.owned.invoices.move(row.id, this.invoices.get(row.id)?.uid, row.uid);
    this.invoices.set(row.id, row);
    this.#invoicePositions.set(row.id, position);
    return before;
  }

  #putSubscription(row: SubscriptionRow, position: number, at: string): number | undefined {
    const states = this.subscriptions.get(row.id) ?? new States<SubscriptionRow>();
    this.subscriptions.set(row.id, states);
    this.subscriptionsVersion += 1;
    const before = states.latest?.uid;
    // As far as anyone knows, what the first import says has been so from the start.
    const gone = states.put(row, Date.parse(states.list.length === 0 ? row.startedAt : at), position);
    this.owned.subscriptions.move(row.id, before, states.latest?.uid ?? row.uid);
    return gone;
  }

  #putWebsite(row: WebsiteRow, position: number, at: string): number | undefined {
    const states = this.websites.get(row.id) ?? new States<WebsiteRow>();
    this.websites.set(row.id, states);
    const before = states.latest?.uid;
    const gone = states.put(row, websiteFrom(row, at, states.list.length === 0), position);
    this.owned.websites.move(row.id, before, states.latest?.uid ?? row.uid);
    return gone;
  }
}

/** A draft is one from its creation on and a published site from its publication on; other states only since we know. */
function websiteFrom(row: WebsiteRow, at: string, isFirst: boolean): number {
  if (row.state === 'published' && row.publishedAt !== undefined) return Date.parse(row.publishedAt);
  const known = isFirst && (row.state === 'draft' || row.state === 'published') && row.publishedAt === undefined;
  return Date.parse(known ? row.createdAt : at);
}

function knownState<Row extends { readonly effectiveAt?: string | undefined }>(
  states: States<Row> | undefined,
  row: Row,
): Known {
  if (!states) return 'new';
  return states.holds(row) ? 'same' : 'changed';
}

/** Which records belong to a user. */
class Owned {
  readonly #ids = new Map<string, Set<string>>();

  of(uid: string): readonly string[] {
    return [...(this.#ids.get(uid) ?? [])];
  }

  move(id: string, from: string | undefined, to: string): void {
    if (from === to) return;
    if (from !== undefined) this.#ids.get(from)?.delete(id);
    const ids = this.#ids.get(to) ?? new Set<string>();
    this.#ids.set(to, ids.add(id));
  }
}

/** Replaced rows are dropped once there are this many and more of them than others, or the first of them was replaced this long ago. */
const MANY = 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
const RETRY_MS = 10 * 60 * 1000;

/** The model of a store, read from its row log as far as that goes. */
export class ImportedData {
  readonly #log: RowLog;
  readonly #now: () => Date;
  readonly #model = new Model();
  #position = 0;
  #last: Promise<unknown> = Promise.resolve();
  #tidying: Promise<void> | undefined;
  #notBefore = 0;

  constructor(log: RowLog, now = () => new Date()) {
    this.#log = log;
    this.#now = now;
  }

  /** The model with every row that was imported before the call. */
  current(): Promise<Model> {
    const read = this.#last.then(() => this.#catchUp());
    this.#last = read.catch(() => {});
    return read;
  }

  /** The whole rows at these positions of the log. */
  rowsAt(positions: readonly number[]): Promise<readonly LoggedRow[]> {
    return this.#log.get(positions);
  }

  /** Has the log drop replaced rows, if it is time. A failure shows in the status of the store and is tried again. */
  tidy(): Promise<void> {
    if (!this.#tidying && this.#isTimeToTidy()) {
      this.#tidying = this.#drop().finally(() => {
        this.#tidying = undefined;
      });
    }
    return this.#tidying ?? Promise.resolve();
  }

  async #catchUp(): Promise<Model> {
    for (;;) {
      const rows = await this.#log.read(this.#position, STEP);
      for (const logged of rows) {
        this.#model.put(typed(logged), logged.position, logged.at);
        this.#position = logged.next;
      }
      if (rows.length < STEP) break;
    }
    // In the background: the log goes on meanwhile.
    void this.tidy();
    return this.#model;
  }

  #isTimeToTidy(): boolean {
    const { rows, superseded, supersededSince } = this.#model;
    const now = this.#now().getTime();
    if (supersededSince === undefined || now < this.#notBefore) return false;
    const count = superseded.length;
    return (count >= MANY && count > rows - count) || now - Date.parse(supersededSince) >= DAY_MS;
  }

  async #drop(): Promise<void> {
    const model = this.#model;
    const { superseded, supersededSince } = model;
    model.superseded = [];
    model.supersededSince = undefined;
    try {
      await this.#log.drop(superseded);
      model.rows -= superseded.length;
    } catch {
      model.superseded = [...superseded, ...model.superseded];
      model.supersededSince = supersededSince;
      this.#notBefore = this.#now().getTime() + RETRY_MS;
    }
  }
}

function typed({ type, row }: LoggedRow): TypedRow {
  // `import_records` parsed the row by the schema of its type, which is one of RowType.
  return { type: type as RowType, row } as unknown as TypedRow;
}
