import { NONE, type OrderedRows } from './ordered-rows.ts';
import { type ByPrevious, NEVER } from './previous.ts';
import type { Settling } from './settling.ts';
import { SummedRows } from './summed-rows.ts';
import type { SessionRows, VisitRows } from './visit-rows.ts';

export type VisitDimension = 'channel' | 'country' | 'device' | 'browser' | 'os';

/** The sums over the sessions of a chunk. The value of a session is the end of the visitor's previous session with the same label. */
export interface SessionSums extends ByPrevious {
  readonly pages: number;
  readonly bounces: number;
  /** In milliseconds, shortest first. */
  readonly durations: Float64Array;
}

/** Steps between two looks at the clock. */
const STRIDE = 64;

type LabelSet = SummedRows<SessionSums>;

interface SessionSources {
  readonly sessions: SessionRows;
  readonly visits: VisitRows;
  /** All sessions, by visitor and start. */
  readonly byVisitor: OrderedRows;
  /** All existing sessions by start, for filling the index at the beginning. */
  readonly byStart: () => OrderedRows<unknown> | undefined;
}

/** Sessions by start, in a list for each label of a dimension. Without a dimension, all are under 0. */
export class SessionIndex implements Settling {
  readonly #dimension: VisitDimension | undefined;
  readonly #sources: SessionSources;
  readonly #sets = new Map<number, LabelSet>();
  /** Adds the existing sessions step by step. Undefined once all are added. */
  #filling: Iterator<void> | undefined;

  constructor(dimension: VisitDimension | undefined, sources: SessionSources) {
    this.#dimension = dimension;
    this.#sources = sources;
    this.#filling = sources.byStart() && this.#fill();
  }

  get sets(): ReadonlyMap<number, LabelSet> {
    return this.#sets;
  }

  labelOf(session: number): number {
    const { sessions, visits } = this.#sources;
    return this.#dimension ? visits.at(this.#dimension, sessions.at('first', session)) : 0;
  }

  insert(session: number): void {
    if (this.#isUnfinished()) return;
    this.#setOf(session).insert(session, this.#endOf(this.#before(session)));
    this.#follows(this.#after(session), session);
  }

  delete(session: number): void {
    if (this.#isUnfinished()) return;
    this.#setOf(session).delete(session);
    this.#follows(this.#after(session), this.#before(session));
  }

  /** Called when anything but the start of the session changed. */
  changed(session: number, isEndOther: boolean): void {
    if (this.#isUnfinished()) return;
    this.#setOf(session).touch(session);
    if (isEndOther) this.#follows(this.#after(session), session);
  }

  settle(until: number): boolean {
    while (this.#filling) {
      if (performance.now() >= until) return false;
      this.#goOn(this.#filling);
    }
    for (const set of this.#sets.values()) if (!set.settle(until)) return false;
    return true;
  }

  #goOn(filling: Iterator<void>): void {
    for (let left = STRIDE; left > 0; left -= 1) {
      if (!filling.next().done) continue;
      this.#filling = undefined;
      return;
    }
  }

  /** Sorted by visitor, so that each session follows the one before it, then by start, so that rows are only appended. */
  *#fill(): Generator<void, void> {
    const { sessions, byVisitor, byStart } = this.#sources;
    const all = byStart();
    if (!all) return;
    const before = new Float64Array(sessions.size);
    const ends = new Map<number, number>();
    let visitor = -1;
    for (const session of byVisitor.ascending(NEVER)) {
      if (this.#visitorOf(session) !== visitor) ends.clear();
      visitor = this.#visitorOf(session);
      const label = this.labelOf(session);
      before[session] = ends.get(label) ?? NEVER;
      ends.set(label, this.#endOf(session));
      yield;
    }
    for (const session of all.ascending(NEVER)) {
      this.#setOf(session).insert(session, before[session]);
      yield;
    }
  }

  /** Whether sessions are still being added. A change then makes that start again, which includes the change. */
  #isUnfinished(): boolean {
    if (!this.#filling) return false;
    this.#sets.clear();
    this.#filling = this.#fill();
    return true;
  }

  #setOf(session: number): LabelSet {
    const label = this.labelOf(session);
    let set = this.#sets.get(label);
    if (!set) {
      const { columns } = this.#sources.sessions;
      set = new SummedRows(
        (other) => columns.start[other] ?? 0,
        (rows, values) => this.#summarise(rows, values),
      );
      this.#sets.set(label, set);
    }
    return set;
  }

  #summarise(rows: Uint32Array, values: Float64Array): SessionSums {
    const { start, end, pages, bounced } = this.#sources.sessions.columns;
    const sums = { pages: 0, bounces: 0 };
    for (const session of rows) {
      sums.pages += pages[session] ?? 0;
      sums.bounces += bounced[session] ?? 0;
    }
    const durations = Float64Array.from(rows, (session) => (end[session] ?? 0) - (start[session] ?? 0)).sort();
    return { ...sums, sorted: values.toSorted(), durations };
  }

  #follows(session: number, before: number): void {
    if (session !== NONE) this.#setOf(session).setValue(session, this.#endOf(before));
  }

  #endOf(session: number): number {
    return session === NONE ? NEVER : this.#sources.sessions.at('end', session);
  }

  /** The visitor's previous session with the same label. */
  #before(session: number): number {
    const { sessions, byVisitor } = this.#sources;
    return this.#like(session, byVisitor.descending(this.#visitorOf(session), sessions.at('start', session)));
  }

  #after(session: number): number {
    const { sessions, byVisitor } = this.#sources;
    return this.#like(session, byVisitor.ascending(this.#visitorOf(session), sessions.at('start', session) + 1));
  }

  /** The first of the sessions that has the visitor and label of this session. */
  #like(session: number, others: Iterable<number>): number {
    const [visitor, label] = [this.#visitorOf(session), this.labelOf(session)];
    for (const other of others) {
      if (this.#visitorOf(other) !== visitor) break;
      if (this.labelOf(other) === label) return other;
    }
    return NONE;
  }

  #visitorOf(session: number): number {
    const { sessions, visits } = this.#sources;
    return visits.at('visitor', sessions.at('first', session));
  }
}
