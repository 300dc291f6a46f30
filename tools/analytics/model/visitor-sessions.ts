import type { EventTable } from './events.ts';
import type { Follower } from './feed.ts';
import { NONE, OrderedRows } from './ordered-rows.ts';
import { SessionIndex, type VisitDimension } from './session-index.ts';
import { Table } from './tables.ts';
import { sessionColumns, type VisitRows } from './visit-rows.ts';

/** A session ends when the visitor makes no visit for this long. */
const SESSION_GAP_MS = 30 * 60_000;

/** A session that began before a moment and continues after it. */
export interface Crossing {
  readonly session: number;
  /** The number of its visits at the moment or later. */
  readonly later: number;
}

/** The sessions that the visits form. Visits may arrive in any order and be replaced. */
export class Sessions implements Follower {
  readonly table = new Table(sessionColumns);
  readonly #visits: VisitRows;
  readonly #events: EventTable;
  readonly #rowsByTime: OrderedRows;
  readonly #rowsByVisitor: OrderedRows;
  readonly #rowsByUser: OrderedRows;
  readonly #byVisitor: OrderedRows;
  readonly #indexes = new Map<VisitDimension | undefined, SessionIndex>();

  constructor(visits: VisitRows, events: EventTable) {
    this.#visits = visits;
    this.#events = events;
    const [rows, own] = [visits.columns, this.table.columns];
    const time = (row: number) => rows.time[row] ?? 0;
    this.#rowsByTime = new OrderedRows(time);
    this.#rowsByVisitor = new OrderedRows((row) => rows.visitor[row] ?? 0, time);
    this.#rowsByUser = new OrderedRows((row) => rows.uid[row] ?? 0, time);
    this.#byVisitor = new OrderedRows(
      (session) => rows.visitor[own.first[session] ?? 0] ?? 0,
      (session) => own.start[session] ?? 0,
    );
    this.by(undefined);
    events.feed.follow({ add: (row) => this.#eventAt(row), remove: (row) => this.#eventAt(row) });
  }

  /** The sessions by start and by label of the dimension. Made when first asked for, and kept. */
  by(dimension: VisitDimension | undefined): SessionIndex {
    let index = this.#indexes.get(dimension);
    if (!index) {
      index = new SessionIndex(dimension, {
        sessions: this.table,
        visits: this.#visits,
        byVisitor: this.#byVisitor,
        byStart: () => this.#indexes.get(undefined)?.sets.get(0),
      });
      this.#indexes.set(dimension, index);
    }
    return index;
  }

  add(row: number): void {
    const { table } = this;
    this.#rowsByTime.insert(row);
    if (this.#visits.at('uid', row) > 0) this.#rowsByUser.insert(row);
    const { before, after } = this.#rowsByVisitor.insertBetween(row);
    const earlier = this.#areJoined(before, row) ? this.#visits.at('session', before) : NONE;
    const later = this.#areJoined(row, after) ? this.#visits.at('session', after) : NONE;
    const time = this.#visits.at('time', row);
    let own = earlier === NONE ? later : earlier;
    if (own === NONE) own = this.#make({ first: row, pages: 1, end: time });
    else if (earlier !== NONE && later !== NONE && earlier !== later) own = this.#merge(earlier, later);
    else if (earlier === NONE)
      this.#move(own, { first: row, pages: table.at('pages', own) + 1, end: table.at('end', own) });
    else this.#change(own, table.at('pages', own) + 1, Math.max(table.at('end', own), time));
    this.#visits.set('session', row, own);
  }

  remove(row: number): void {
    const { before, after } = this.#rowsByVisitor.around(row);
    this.#rowsByTime.delete(row);
    this.#rowsByVisitor.delete(row);
    if (this.#visits.at('uid', row) > 0) this.#rowsByUser.delete(row);
    const session = this.#visits.at('session', row);
    const pages = this.table.at('pages', session) - 1;
    const end = this.table.at('end', session);
    const isLast = !this.#areJoined(row, after);
    if (this.table.at('first', session) === row) {
      if (isLast) this.#drop(session);
      else this.#move(session, { first: after, pages, end });
    } else if (isLast) this.#change(session, pages, this.#visits.at('time', before));
    else if (this.#areJoined(before, after)) this.#change(session, pages, end);
    else {
      const rest = this.#countFrom(after, end);
      this.#change(session, pages - rest, this.#visits.at('time', before));
      this.#claim(this.#make({ first: after, pages: rest, end }));
    }
  }

  /** The visits of the user. */
  *ofUser(uid: number): Generator<number, void> {
    for (const row of this.#rowsByUser.ascending(uid + 1)) {
      if (this.#visits.at('uid', row) !== uid + 1) return;
      yield row;
    }
  }

  /** The sessions that began before the moment and have visits then or later. */
  crossing(instant: number): Crossing[] {
    const found: Crossing[] = [];
    // Such a session has a visit before the moment, and its next visit follows within the gap.
    this.#rowsByTime.eachChunk(instant, instant + SESSION_GAP_MS, ({ rows }, low, high) => {
      for (const row of rows.subarray(low, high)) {
        const session = this.#visits.at('session', row);
        if (this.table.at('start', session) >= instant) continue;
        const { before } = this.#rowsByVisitor.around(row);
        if (this.#visits.at('time', before) >= instant) continue;
        found.push({ session, later: this.#countFrom(row, this.table.at('end', session)) });
      }
    });
    return found;
  }

  /** Whether the second of two consecutive rows continues the session of the first. */
  #areJoined(row: number, next: number): boolean {
    if (row === NONE || next === NONE) return false;
    const { visitor, time } = this.#visits.columns;
    return visitor[row] === visitor[next] && (time[next] ?? 0) - (time[row] ?? 0) <= SESSION_GAP_MS;
  }

  /** How many rows of the same visitor there are from the row until the time. */
  #countFrom(row: number, end: number): number {
    const { visitor, time } = this.#visits.columns;
    return this.#rowsByVisitor.count(visitor[row] ?? 0, time[row] ?? 0, end + 1);
  }

  #make(session: { readonly first: number; readonly pages: number; readonly end: number }): number {
    const { first, pages } = session;
    const start = this.#visits.at('time', first);
    const made = this.table.push({ ...session, start, bounced: this.#isBounced(first, pages) });
    this.#byVisitor.insert(made);
    for (const index of this.#indexes.values()) index.insert(made);
    return made;
  }

  #drop(session: number): void {
    for (const index of this.#indexes.values()) index.delete(session);
    this.#byVisitor.delete(session);
    this.table.free(session);
  }

  /** Changes the row with which the session begins. */
  #move(session: number, to: { readonly first: number; readonly pages: number; readonly end: number }): void {
    for (const index of this.#indexes.values()) index.delete(session);
    this.#byVisitor.delete(session);
    const { table } = this;
    table.set('first', session, to.first);
    table.set('start', session, this.#visits.at('time', to.first));
    table.set('pages', session, to.pages);
    table.set('end', session, to.end);
    table.set('bounced', session, this.#isBounced(to.first, to.pages));
    this.#byVisitor.insert(session);
    for (const index of this.#indexes.values()) index.insert(session);
  }

  #change(session: number, pages: number, end: number): void {
    const { table } = this;
    const isEndOther = table.at('end', session) !== end;
    table.set('pages', session, pages);
    table.set('end', session, end);
    table.set('bounced', session, this.#isBounced(table.at('first', session), pages));
    for (const index of this.#indexes.values()) index.changed(session, isEndOther);
  }

  /** A row between two sessions joins them. The joined session has the number of the longer one. */
  #merge(earlier: number, later: number): number {
    const { table } = this;
    const pages = table.at('pages', earlier) + table.at('pages', later) + 1;
    const [first, end] = [table.at('first', earlier), table.at('end', later)];
    const isEarlierKept = table.at('pages', earlier) >= table.at('pages', later);
    const [kept, gone] = isEarlierKept ? [earlier, later] : [later, earlier];
    this.#claim(gone, kept);
    this.#drop(gone);
    if (isEarlierKept) this.#change(kept, pages, end);
    else this.#move(kept, { first, pages, end });
    return kept;
  }

  /** Gives the rows of the session to another session, or to itself. */
  #claim(session: number, by = session): void {
    const first = this.table.at('first', session);
    const [visitor, end] = [this.#visits.at('visitor', first), this.table.at('end', session)];
    for (const row of this.#rowsByVisitor.ascending(visitor, this.#visits.at('time', first))) {
      if (this.#visits.at('visitor', row) !== visitor || this.#visits.at('time', row) > end) return;
      this.#visits.set('session', row, by);
    }
  }

  /** 1 for a session with one page view and no event of its user in the next 30 minutes. */
  #isBounced(first: number, pages: number): number {
    if (pages !== 1) return 0;
    const [user, time] = [this.#visits.at('uid', first), this.#visits.at('time', first)];
    return Number(user === 0 || !this.#events.hasEvent(user - 1, time, time + SESSION_GAP_MS));
  }

  /** An event was added or removed. It affects sessions that began in the 30 minutes before it. */
  #eventAt(event: number): void {
    const user = this.#events.table.at('uid', event) + 1;
    const time = this.#events.table.at('time', event);
    for (const row of this.#rowsByUser.ascending(user, time - SESSION_GAP_MS)) {
      if (this.#visits.at('uid', row) !== user || this.#visits.at('time', row) > time) return;
      const session = this.#visits.at('session', row);
      const isBounced = this.#isBounced(row, this.table.at('pages', session));
      if (this.table.at('bounced', session) !== isBounced) this.#change(session, 1, this.#visits.at('time', row));
    }
  }
}
