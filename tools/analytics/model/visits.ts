import type { VisitRow } from '../../../resources/imported-rows.ts';
import { channelOf } from '../../../store/rows/channel.ts';
import { type EventTable, knownIn } from './events.ts';
import { Feed } from './feed.ts';
import { digestOf, KeyTable } from './key-table.ts';
import { Labels, Table } from './tables.ts';
import { visitColumns } from './visit-rows.ts';
import { Sessions } from './visitor-sessions.ts';

/** Visits in memory, with the sessions that they form. */
export class VisitTable {
  readonly table = new Table(visitColumns);
  /** The labels of channels, countries, devices and so on. 0 is unknown. */
  readonly labels = new Labels();
  readonly feed = new Feed(this.table);
  readonly sessions: Sessions;
  readonly #uids: Labels;
  readonly #keys = new KeyTable();
  readonly #visitorKeys = new KeyTable();
  #visitors = 0;

  constructor(events: EventTable) {
    this.#uids = events.uids;
    this.labels.add('');
    this.sessions = new Sessions(this.table, events);
    this.feed.follow(this.sessions);
  }

  knows(row: VisitRow): 'new' | 'changed' | 'same' {
    return knownIn(this.#keys, row.id, row).known;
  }

  /** Returns the position of the row that no longer counts. */
  put(row: VisitRow, position: number): number | undefined {
    const { known, key, content, before } = knownIn(this.#keys, row.id, row);
    if (known === 'same') return position;
    if (before !== undefined) this.feed.dead(before);
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
      session: 0,
    });
    this.#keys.set(key, number, content);
    return before === undefined ? undefined : this.table.at('position', before);
  }

  /** Whether the user has any visit. */
  has(uid: string): boolean {
    const number = this.#uids.get(uid);
    return number !== undefined && !this.sessions.ofUser(number).next().done;
  }

  /** Removes the visits of the user. Returns their positions in the log. */
  remove(uid: string): number[] {
    const number = this.#uids.get(uid);
    if (number === undefined) return [];
    this.feed.settle(Number.POSITIVE_INFINITY);
    const rows = new Set(this.sessions.ofUser(number));
    for (const row of rows) this.feed.dead(row);
    this.#keys.forget(rows);
    return Array.from(rows, (row) => this.table.at('position', row));
  }

  #visitor(id: string): number {
    const digest = digestOf(id);
    const known = this.#visitorKeys.find(digest);
    if (known !== undefined) return known;
    this.#visitorKeys.set(digest, this.#visitors, digest);
    this.#visitors += 1;
    return this.#visitors - 1;
  }
}
