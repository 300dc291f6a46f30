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

/** A row of a type, as the log holds it: parsed by the schema of the type when it was imported. */
export type TypedRow =
  | { readonly type: 'users'; readonly row: UserRow }
  | { readonly type: 'subscriptions'; readonly row: SubscriptionRow }
  | { readonly type: 'invoices'; readonly row: InvoiceRow }
  | { readonly type: 'events'; readonly row: EventRow }
  | { readonly type: 'visits'; readonly row: VisitRow }
  | { readonly type: 'websites'; readonly row: WebsiteRow };

/** Takes away a user with everything that belongs to them; in the log it is a row as well. */
export const PURGE = 'purge';
export interface Purge {
  readonly type: typeof PURGE;
  readonly row: { readonly uid: string };
}

export type Known = 'new' | 'changed' | 'same';

/** What all imported rows amount to: the log folded in its order, kept in memory and brought up to date before it is used. */
export class Model {
  readonly users = new UserDirectory();
  readonly subscriptions = new Map<string, States<SubscriptionRow>>();
  readonly invoices = new Map<string, InvoiceRow>();
  readonly websites = new Map<string, States<WebsiteRow>>();
  readonly uids = new Labels();
  readonly events = new EventTable(this.uids);
  readonly visits = new VisitTable(this.events);
  /** Ids of the records of a user, by type. */
  readonly owned = { subscriptions: new Owned(), invoices: new Owned(), websites: new Owned() };
  /** Ids in the order in which something was said of them, for those who follow. */
  readonly touched: { readonly subscriptions: string[]; readonly websites: string[] } = {
    subscriptions: [],
    websites: [],
  };
  /** Grows with every row: what was worked out from the model holds as long as it stays. */
  version = 0;
  /** How many rows the log holds. */
  rows = 0;
  /** Positions of those without which the model would be the same: later rows replaced them. */
  superseded: number[] = [];
  /** When the first of them was replaced. */
  supersededSince: string | undefined;
  /** Some of them are those of users who were purged. */
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

  /** Whether anything was imported of the user. */
  knowsOf(uid: string): boolean {
    if (this.users.get(uid) || !this.events.ofUser(uid).next().done || this.visits.has(uid)) return true;
    return Object.values(this.owned).some((owned) => owned.of(uid).length > 0);
  }

  put(stated: TypedRow | Purge, position: number, at: string): void {
    this.version += 1;
    this.rows += 1;
    if (stated.type === PURGE) {
      this.superseded.push(...this.#purge(stated.row.uid), position);
      this.isPurged = true;
    } else {
      const gone = this.#put(stated, position, at);
      if (gone === undefined) return;
      this.superseded.push(gone);
    }
    this.supersededSince ??= at;
  }

  /** Returns the positions of the rows that no longer matter. */
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
    this.touched.subscriptions.push(row.id);
    const before = states.latest?.uid;
    // As far as anyone knows, what the first import says has been so from the start.
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

  /** They belong to nobody any more. */
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
