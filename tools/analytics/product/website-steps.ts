import { type WebsiteState, websiteState } from '../../../resources/imported-rows.ts';
import type { ImportedModel } from '../model/imported-model.ts';
import type { Settling } from '../model/settling.ts';
import { SummedRows } from '../model/summed-rows.ts';
import { Table } from '../model/tables.ts';
import { websiteHistory } from '../model/website-history.ts';

const STATES = websiteState.options;

/** How many websites changed from each state, or from none, to each state. */
export class WebsiteFlows {
  /** Counts by kind of change. */
  readonly #counts = new Float64Array((STATES.length + 1) * STATES.length);

  static of(kinds: Iterable<number>): WebsiteFlows {
    const flows = new WebsiteFlows();
    for (const kind of kinds) flows.#counts[kind] = (flows.#counts[kind] ?? 0) + 1;
    return flows;
  }

  static sum(all: readonly WebsiteFlows[]): WebsiteFlows {
    const sum = new WebsiteFlows();
    for (const flows of all) {
      for (const [kind, count] of flows.#counts.entries()) sum.#counts[kind] = (sum.#counts[kind] ?? 0) + count;
    }
    return sum;
  }

  between(from: WebsiteState | undefined, to: WebsiteState): number {
    return this.#counts[kindOf(from, to)] ?? 0;
  }

  /** How many websites are in each state, if these are all changes so far. */
  counts() {
    const counts = { draft: 0, published: 0, suspended: 0, deleted: 0 };
    for (const to of STATES) {
      for (const from of [undefined, ...STATES]) {
        counts[to] += this.between(from, to);
        if (from) counts[from] -= this.between(from, to);
      }
    }
    return counts;
  }

  moved() {
    const created = STATES.reduce((sum, to) => sum + this.between(undefined, to), 0);
    return { created, transitions: this.#counts.reduce((sum, count) => sum + count, 0) - created };
  }
}

function kindOf(from: WebsiteState | undefined, to: WebsiteState): number {
  return (from === undefined ? 0 : STATES.indexOf(from) + 1) * STATES.length + STATES.indexOf(to);
}

const kept = new WeakMap<ImportedModel, WebsiteSteps>();

export function websiteStepsOf(model: ImportedModel): WebsiteSteps {
  const steps = kept.get(model) ?? new WebsiteSteps(model);
  kept.set(model, steps);
  return steps;
}

/** The changes of state of all websites, by time. */
class WebsiteSteps implements Settling {
  readonly #model: ImportedModel;
  readonly #table = new Table({ time: 'float', kind: 'int' });
  readonly #byTime: SummedRows<WebsiteFlows>;
  readonly #rowsOf = new Map<string, readonly number[]>();
  #seen = 0;

  constructor(model: ImportedModel) {
    this.#model = model;
    const { columns } = this.#table;
    this.#byTime = new SummedRows(
      (row) => columns.time[row] ?? 0,
      (rows) => WebsiteFlows.of(rows.map((row) => columns.kind[row] ?? 0)),
    );
  }

  flows(from: number, to: number): WebsiteFlows {
    return WebsiteFlows.sum(this.#byTime.sums(from, to));
  }

  settle(until: number): boolean {
    const { websites } = this.#model.touched;
    for (; this.#seen < websites.length; this.#seen += 1) {
      if (performance.now() >= until) return false;
      this.#read(websites[this.#seen] ?? '');
    }
    return this.#byTime.settle(until);
  }

  #read(id: string): void {
    for (const row of this.#rowsOf.get(id) ?? []) {
      this.#byTime.delete(row);
      this.#table.free(row);
    }
    const states = this.#model.websites.get(id);
    const steps = states ? websiteHistory(states) : [];
    const rows = steps.map(({ time, state }, at) =>
      this.#table.push({ time, kind: kindOf(steps[at - 1]?.state, state) }),
    );
    for (const row of rows) this.#byTime.insert(row);
    this.#rowsOf.set(id, rows);
  }
}
