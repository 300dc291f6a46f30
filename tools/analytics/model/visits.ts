import type { VisitRow } from '../../../resources/imported-rows.ts';
import { channelOf } from './channel.ts';
import { knownIn } from './events.ts';
import { digestOf, KeyTable } from './key-table.ts';
import { Labels, lowerBound, SortedRows, Table } from './tables.ts';

/** A session ends after this long without a row of the same visitor. */
export const SESSION_GAP_MS = 30 * 60_000;

export type VisitDimension = 'channel' | 'country' | 'device' | 'browser' | 'os';

export interface Sessions {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly pages: Uint32Array;
  /** The row a session began with; its channel, country and so on are the session's. */
  readonly first: Uint32Array;
  /** 1 + number of the user, 0 where no row names one. */
  readonly uid: Uint32Array;
  /** Of each visit row. */
  readonly of: Uint32Array;
  /** Sessions by start. */
  readonly byStart: Uint32Array;
}

/** Visits in memory, with the sessions they form. */
export class VisitTable {
  readonly table = new Table({
    time: 'float',
    position: 'float',
    visitor: 'int',
    uid: 'int',
    channel: 'int',
    country: 'int',
    device: 'int',
    browser: 'int',
    os: 'int',
  });
  /** Of channels, countries, devices and so on; 0 is the unknown. */
  readonly labels = new Labels();
  visitors = 0;
  readonly #uids: Labels;
  readonly #keys = new KeyTable();
  readonly #visitorKeys = new KeyTable();
  readonly #dead = new Set<number>();
  readonly #byTime: SortedRows;
  readonly #byVisitor: SortedRows;
  #sessions: { readonly rows: Uint32Array; readonly sessions: Sessions } | undefined;

  constructor(uids: Labels) {
    this.#uids = uids;
    this.labels.add('');
    const { table } = this;
    const { columns } = table;
    this.#byTime = new SortedRows((a, b) => (columns.time[a] ?? 0) - (columns.time[b] ?? 0) || a - b);
    this.#byVisitor = new SortedRows(
      (a, b) =>
        (columns.visitor[a] ?? 0) - (columns.visitor[b] ?? 0) ||
        (columns.time[a] ?? 0) - (columns.time[b] ?? 0) ||
        a - b,
    );
  }

  knows(row: VisitRow): 'new' | 'changed' | 'same' {
    return knownIn(this.#keys, row.id, row).known;
  }

  /** Returns the position of the row that no longer matters. */
  put(row: VisitRow, position: number): number | undefined {
    const { known, key, content, before } = knownIn(this.#keys, row.id, row);
    if (known === 'same') return position;
    if (before !== undefined) this.#dead.add(before);
    const number = this.table.push({
      time: Date.parse(row.at),
      position,
      visitor: this.#visitor(row.visitorId),
      uid: row.uid === undefined ? 0 : this.#uids.add(row.uid) + 1,
      channel: this.labels.add(row.channel ?? channelOf(row.referrer)),
      country: this.labels.add(row.country ?? ''),
      device: this.labels.add(row.device ?? ''),
      browser: this.labels.add(row.browser ?? ''),
      os: this.labels.add(row.os ?? ''),
    });
    this.#keys.set(key, number, content);
    return before === undefined ? undefined : this.table.at('position', before);
  }

  has(uid: string): boolean {
    const number = this.#uids.get(uid);
    return number !== undefined && this.#byTime.get(this.table.size, this.#dead).some((row) => this.#isOf(row, number));
  }

  #isOf(row: number, uid: number): boolean {
    return this.table.at('uid', row) === uid + 1;
  }

  /** Takes away the visits of the user; returns where they are in the log. */
  remove(uid: string): number[] {
    const number = this.#uids.get(uid);
    if (number === undefined) return [];
    const rows = new Set(this.#byTime.get(this.table.size, this.#dead).filter((row) => this.#isOf(row, number)));
    for (const row of rows) this.#dead.add(row);
    this.#keys.forget(rows);
    return Array.from(rows, (row) => this.table.at('position', row));
  }

  /** The rows with times in [from, to), in order of time. */
  within(from: number, to: number): Uint32Array {
    const rows = this.#byTime.get(this.table.size, this.#dead);
    const time = (row: number) => this.table.at('time', row);
    return rows.subarray(lowerBound(rows, from, time), lowerBound(rows, to, time));
  }

  /** Made again when visits were added or taken away since. */
  sessions(): Sessions {
    const rows = this.#byTime.get(this.table.size, this.#dead);
    if (this.#sessions?.rows !== rows) this.#sessions = { rows, sessions: this.#makeSessions() };
    return this.#sessions.sessions;
  }

  #visitor(id: string): number {
    const digest = digestOf(id);
    const known = this.#visitorKeys.find(digest);
    if (known !== undefined) return known;
    this.#visitorKeys.set(digest, this.visitors, digest);
    this.visitors += 1;
    return this.visitors - 1;
  }

  #makeSessions(): Sessions {
    const { time, visitor, uid } = this.table.columns;
    const rows = this.#byVisitor.get(this.table.size, this.#dead);
    const [start, end] = [new Float64Array(rows.length), new Float64Array(rows.length)];
    const [pages, first, users] = [
      new Uint32Array(rows.length),
      new Uint32Array(rows.length),
      new Uint32Array(rows.length),
    ];
    const of = new Uint32Array(this.table.size);
    let session = -1;
    let last = -1;
    for (const row of rows) {
      const at = time[row] ?? 0;
      const goesOn = last >= 0 && visitor[row] === visitor[last] && at - (time[last] ?? 0) <= SESSION_GAP_MS;
      if (!goesOn) {
        session += 1;
        start[session] = at;
        first[session] = row;
      }
      end[session] = at;
      pages[session] = (pages[session] ?? 0) + 1;
      users[session] = users[session] || (uid[row] ?? 0);
      of[row] = session;
      last = row;
    }
    const count = session + 1;
    // The first rows of the sessions in order of time are the sessions in order of their start.
    const byStart = new Uint32Array(count);
    let next = 0;
    for (const row of this.#byTime.get(this.table.size, this.#dead)) {
      const own = of[row] ?? 0;
      if (first[own] !== row) continue;
      byStart[next] = own;
      next += 1;
    }
    return {
      start: start.slice(0, count),
      end: end.slice(0, count),
      pages: pages.slice(0, count),
      first: first.slice(0, count),
      uid: users.slice(0, count),
      of,
      byStart,
    };
  }
}
