import { randomFrom } from '../support/random.ts';
import type { StoreKind } from '../support/store.ts';
import { faults } from './catalog.ts';
import { between, type Fault, type Random } from './fault.ts';

/** How often one more fault begins before the others end. */
const OVERLAPPING = 0.88;

/** A fault with the numbers that decide what it hits. */
export interface Planned {
  readonly number: number;
  readonly fault: Fault;
  readonly random: Random;
}

/** Faults that are under way together. */
export type Round = readonly Planned[];

export interface ScheduleOptions {
  readonly seed: number;
  readonly faults: number;
  readonly store: StoreKind;
  readonly processes: number;
  /** Names of the kinds to choose from. */
  readonly only?: RegExp;
}

/** What happens in a run, decided by these alone. */
export function scheduleOf({ seed, faults: count, store, processes, only }: ScheduleOptions): Round[] {
  const possible = faults.filter(
    ({ stores, processes: least = 1, name }) =>
      (stores?.includes(store) ?? true) && processes >= least && (only?.test(name) ?? true),
  );
  const random = randomFrom(seed);
  const rounds: Round[] = [];
  for (let number = 1; number <= count; ) {
    const round: Planned[] = [];
    const plan = (fault: Fault) => {
      round.push({ number, fault, random: randomFrom(between(random, 0, 2 ** 31)) });
      number += 1;
    };
    plan(weighted(possible, random));
    while (random() < OVERLAPPING && number <= count) {
      const others = possible.filter((fault) => round.every((planned) => fitBeside(fault, planned.fault, processes)));
      if (others.length === 0) break;
      plan(weighted(others, random));
    }
    rounds.push(round);
  }
  return rounds;
}

/** Faults of different parts fit, and those of one process each where there are several. */
function fitBeside(one: Fault, other: Fault, processes: number): boolean {
  if (one.isStart || other.isStart) return false;
  if (one.part !== other.part) return true;
  return (
    one.part === 'process' &&
    one !== other &&
    processes > 1 &&
    [one, other].every(({ processes: least = 1 }) => least === 1)
  );
}

function weighted(all: readonly Fault[], random: Random): Fault {
  let left = random() * all.reduce((sum, { weight = 1 }) => sum + weight, 0);
  const found = all.find(({ weight = 1 }) => {
    left -= weight;
    return left < 0;
  });
  if (!found) throw new Error('No fault fits the store and the number of processes.');
  return found;
}
