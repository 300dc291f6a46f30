import type { Settling } from '../model/settling.ts';
import { SummedRows } from '../model/summed-rows.ts';
import { Labels, Table } from '../model/tables.ts';
import { PHASES, type Phase, type PhaseStep } from './subscription-timeline.ts';

/** The sum of steps: how many more or fewer subscriptions are in each phase, in all and for each plan. */
class SubscriptionFlows {
  started = 0;
  ended = 0;
  readonly #phases = new Float64Array(PHASES.length);
  /** For each plan by number: the change in the number of subscriptions in each phase, then the change in what they pay a month. */
  readonly #plans = new Map<number, Float64Array>();

  static sum(all: readonly SubscriptionFlows[]): SubscriptionFlows {
    const sum = new SubscriptionFlows();
    for (const flows of all) {
      sum.started += flows.started;
      sum.ended += flows.ended;
      addTo(sum.#phases, flows.#phases);
      for (const [plan, counts] of flows.#plans) addTo(sum.#ofPlan(plan), counts);
    }
    return sum;
  }

  /** Adds this many subscriptions of the plan, which pay this much a month, to the phase. With the sign -1, removes them. */
  add(sign: 1 | -1, { phase, plan, mrr }: { phase: number; plan: number; mrr: number }): void {
    const counts = this.#ofPlan(plan);
    this.#phases[phase] = (this.#phases[phase] ?? 0) + sign;
    counts[phase] = (counts[phase] ?? 0) + sign;
    counts[PHASES.length] = (counts[PHASES.length] ?? 0) + sign * mrr;
  }

  counts() {
    return countsOf(this.#phases);
  }

  /** By number of the plan. */
  plans() {
    return new Map(
      [...this.#plans].map(([plan, counts]) => [plan, { ...countsOf(counts), mrr: counts[PHASES.length] ?? 0 }]),
    );
  }

  #ofPlan(plan: number): Float64Array {
    let counts = this.#plans.get(plan);
    if (!counts) {
      counts = new Float64Array(PHASES.length + 1);
      this.#plans.set(plan, counts);
    }
    return counts;
  }
}

function addTo(sums: Float64Array, values: Float64Array): void {
  for (const [at, value] of values.entries()) sums[at] = (sums[at] ?? 0) + value;
}

type Counts = ReturnType<typeof countsOf>;

export function plus(a: Counts, b: Counts): Counts {
  return {
    trialing: a.trialing + b.trialing,
    active: a.active + b.active,
    pastDue: a.pastDue + b.pastDue,
    canceled: a.canceled + b.canceled,
  };
}

function countsOf(phases: Float64Array) {
  const of = (phase: Phase) => phases[PHASES.indexOf(phase)] ?? 0;
  return { trialing: of('trialing'), active: of('active'), pastDue: of('past_due'), canceled: of('canceled') };
}

/** The steps of all subscriptions from phase to phase, by time. */
export class SubscriptionSteps implements Settling {
  /** `previous` is 1 + the row of the subscription's step before, 0 for none. `isStart` marks the first active one. */
  readonly #table = new Table({
    time: 'float',
    phase: 'int',
    plan: 'int',
    mrr: 'float',
    previous: 'int',
    isStart: 'int',
  });
  readonly #byTime: SummedRows<SubscriptionFlows>;
  readonly #rowsOf = new Map<string, readonly number[]>();
  readonly #plans = new Labels();

  constructor() {
    const { columns } = this.#table;
    this.#byTime = new SummedRows(
      (row) => columns.time[row] ?? 0,
      (rows) => this.#summarise(rows),
    );
  }

  /** Replaces the subscription's steps. Their times must grow. */
  replace(id: string, steps: readonly PhaseStep[]): void {
    for (const row of this.#rowsOf.get(id) ?? []) {
      this.#byTime.delete(row);
      this.#table.free(row);
    }
    const start = steps.findIndex(({ phase }) => phase === 'active' || phase === 'past_due');
    const rows: number[] = [];
    for (const [at, { time, phase, plan, mrr }] of steps.entries()) {
      rows.push(
        this.#table.push({
          time,
          phase: PHASES.indexOf(phase),
          plan: this.#plans.add(plan),
          mrr,
          previous: (rows.at(-1) ?? -1) + 1,
          isStart: Number(at === start),
        }),
      );
    }
    for (const row of rows) this.#byTime.insert(row);
    this.#rowsOf.set(id, rows);
  }

  /** The steps in [from, to). */
  flows(from: number, to: number): SubscriptionFlows {
    return SubscriptionFlows.sum(this.#byTime.sums(from, to));
  }

  /** The subscriptions of each plan that ever existed, after every step before the time. */
  plansAt(time: number) {
    const plans = this.flows(Number.NEGATIVE_INFINITY, time).plans();
    const ever = this.flows(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY).plans();
    return [...ever.keys()].map((plan) => ({ plan: this.#plans.text(plan), ...(plans.get(plan) ?? NONE_OF_PLAN) }));
  }

  settle(until: number): boolean {
    return this.#byTime.settle(until);
  }

  #summarise(rows: Uint32Array): SubscriptionFlows {
    const { columns } = this.#table;
    const flows = new SubscriptionFlows();
    const stateOf = (row: number) => ({
      phase: columns.phase[row] ?? 0,
      plan: columns.plan[row] ?? 0,
      mrr: columns.mrr[row] ?? 0,
    });
    for (const row of rows) {
      const previous = (columns.previous[row] ?? 0) - 1;
      const is = stateOf(row);
      const was = previous < 0 ? undefined : stateOf(previous);
      if (was) flows.add(-1, was);
      flows.add(1, is);
      flows.started += columns.isStart[row] ?? 0;
      if (is.phase === CANCELED && was?.phase !== CANCELED) flows.ended += 1;
    }
    return flows;
  }
}

const NONE_OF_PLAN = { ...countsOf(new Float64Array(0)), mrr: 0 };
const CANCELED = PHASES.indexOf('canceled');
