import type {
  EventRow,
  InvoiceRow,
  SubscriptionRow,
  UserRow,
  VisitRow,
  WebsiteRow,
} from '../../../resources/imported-rows.ts';
import { EventTable } from './events.ts';
import { States } from './states.ts';
import { Labels } from './tables.ts';
import { UserDirectory } from './user-directory.ts';
import { VisitTable } from './visits.ts';

/** A row of a type as the log holds it. It was checked by the schema of the type when it was imported. */
export type TypedRow =
  | { readonly type: 'users'; readonly row: UserRow }
  | { readonly type: 'subscriptions'; readonly row: SubscriptionRow }
  | { readonly type: 'invoices'; readonly row: InvoiceRow }
  | { readonly type: 'events'; readonly row: EventRow }
  | { readonly type: 'visits'; readonly row: VisitRow }
  | { readonly type: 'websites'; readonly row: WebsiteRow };

/** The type of a log row that removes a user and everything that belongs to the user. */
export const USER_PURGE = 'purge';
export interface UserPurge {
  readonly type: typeof USER_PURGE;
  readonly row: { readonly uid: string };
}

export type Known = 'new' | 'changed' | 'same';

/** The result of all imported rows, in memory: the log read in order. It is brought up to date before each use. */
export class ImportedModel {
  readonly users = new UserDirectory();
  readonly subscriptions = new Map<string, States<SubscriptionRow>>();
  readonly invoices = new Map<string, InvoiceRow>();
  readonly websites = new Map<string, States<WebsiteRow>>();
  readonly uids = new Labels();
  readonly events = new EventTable(this.uids);
  readonly visits = new VisitTable(this.events);
  /** The ids of a user's records, by type. */
  readonly owned = { subscriptions: new Owned(), invoices: new Owned(), websites: new Owned() };
  /** Ids of changed records in the order of the changes, for followers. */
  readonly touched: { readonly subscriptions: string[]; readonly websites: string[] } = {
    subscriptions: [],
    websites: [],
  };
  /** Grows with every row. A result computed from the model is valid as long as the version stays. */
  version = 0;
  /** The number of rows in the log. */
  rows = 0;
  /** Positions of rows that later rows replaced, so the model does not need them. */
  superseded: number[] = [];
  /** When the first of them was replaced. */
  supersededSince: string | undefined;
  /** True if some of them belong to purged users. */
  isPurged = false;
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

  /** Whether anything was imported about the user. */
  knowsOf(uid: string): boolean {
    if (this.users.get(uid) || !this.events.ofUser(uid).next().done || this.visits.has(uid)) return true;
    return Object.values(this.owned).some((owned) => owned.of(uid).length > 0);
  }

  put(stated: TypedRow | UserPurge, position: number, at: string): void {
    this.version += 1;
    this.rows += 1;
    if (stated.type === USER_PURGE) {
      this.superseded.push(...this.#purge(stated.row.uid), position);
      this.isPurged = true;
    } else {
      const gone = this.#put(stated, position, at);
      if (gone === undefined) return;
      this.superseded.push(gone);
    }
    this.supersededSince ??= at;
  }

  /** Returns the positions of the rows that no longer count. */
  #purge(uid: string): number[] {
    const gone = [...this.events.remove(uid), ...this.visits.remove(uid)];
    gone.push(...[this.users.remove(uid)].filter((position) => position !== undefined));
    for (const id of this.owned.invoices.take(uid)) {
      gone.push(this.#invoicePositions.get(id) ?? 0);
      this.#invoicePositions.delete(id);
      this.invoices.delete(id);
    }
    for (const type of ['subscriptions', 'websites'] as const) {
      for (const id of this.owned[type].take(uid)) {
        gone.push(...(this[type].get(id)?.positions ?? []));
        this[type].delete(id);
        this.touched[type].push(id);
      }
    }
    return gone;
  }

  /** Returns the position of the row that no longer counts. */
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
    this.touched.subscriptions.push(row.id);
    const before = states.latest?.uid;
    // As nothing else is known, the first import counts from the start of the subscription.
    const gone = states.put(row, Date.parse(states.list.length === 0 ? row.startedAt : at), position);
    this.owned.subscriptions.move(row.id, before, states.latest?.uid ?? row.uid);
    return gone;
  }

  #putWebsite(row: WebsiteRow, position: number, at: string): number | undefined {
    const states = this.websites.get(row.id) ?? new States<WebsiteRow>();
    this.websites.set(row.id, states);
    this.touched.websites.push(row.id);
    const before = states.latest?.uid;
    const gone = states.put(row, websiteFrom(row, at, states.list.length === 0), position);
    this.owned.websites.move(row.id, before, states.latest?.uid ?? row.uid);
    return gone;
  }
}

/**
 * The time from which a state of a website counts: a draft from its creation, a published site from its publication, other states from the
 * import.
 */
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

/** Which records belong to which user. */
class Owned {
  readonly #ids = new Map<string, Set<string>>();

  of(uid: string): readonly string[] {
    return [...(this.#ids.get(uid) ?? [])];
  }

  /** Returns the user's records, which then belong to nobody. */
  take(uid: string): readonly string[] {
    const ids = this.of(uid);
    this.#ids.delete(uid);
    return ids;
  }

  move(id: string, from: string | undefined, to: string): void {
    if (from === to) return;
    if (from !== undefined) this.#ids.get(from)?.delete(id);
    const ids = this.#ids.get(to) ?? new Set<string>();
    this.#ids.set(to, ids.add(id));
  }
}
