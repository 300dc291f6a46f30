import type { TableRow } from './records.ts';

/** What one import said about a record. */
export interface Statement {
  /** The time from which it counts. */
  readonly from_ms: number;
  /** The import gave that time itself. */
  readonly explicit: boolean;
  /** Of the statements that gave no time, the one that came last. */
  readonly said_last: boolean;
  readonly imported_ms: number;
  readonly terms: TableRow;
}

/** What imports said about one record over time. Each statement counts from its own time until the next one. */
export class Statements {
  /** Sorted by the time from which they count. Among equal times, an explicit time wins; otherwise the later import. */
  readonly list: Statement[];
  isChanged = false;

  constructor(list: readonly Statement[] = []) {
    this.list = [...list];
  }

  /** The owners before and after. */
  get owner(): string | undefined {
    const uid = this.list.at(-1)?.terms.uid;
    return uid === undefined || uid === null ? undefined : String(uid);
  }

  /** Whether an import repeats what is known. `time` is the time it gives. */
  holds(terms: TableRow, time: number | undefined): boolean {
    const text = textOf(terms);
    if (time !== undefined)
      return this.list.some((one) => one.explicit && one.from_ms === time && textOf(one.terms) === text);
    const last = this.list.find((one) => one.said_last) ?? this.list.at(-1);
    return last !== undefined && textOf(last.terms) === text;
  }

  put(statement: Omit<Statement, 'said_last'>): void {
    const { explicit, from_ms: from, terms } = statement;
    if (this.holds(terms, explicit ? from : undefined)) return;
    this.isChanged = true;
    if (!explicit) {
      for (const [at, one] of this.list.entries()) if (one.said_last) this.list[at] = { ...one, said_last: false };
    } else {
      const same = this.list.findIndex((one) => one.explicit && one.from_ms === from);
      if (same >= 0) this.list.splice(same, 1);
    }
    const added = { ...statement, said_last: !explicit };
    let at = this.list.length;
    while (isBefore(added, this.list[at - 1])) at -= 1;
    this.list.splice(at, 0, added);
  }
}

function isBefore(statement: Statement, other: Statement | undefined): boolean {
  if (!other || other.from_ms < statement.from_ms) return false;
  return other.from_ms > statement.from_ms || (other.explicit && !statement.explicit);
}

function textOf(terms: TableRow): string {
  return JSON.stringify(Object.values(terms).map((value) => value ?? null));
}
