import type { ModelServer } from '../support/model-server.ts';
import type { StoreKind } from '../support/store.ts';
import type { FakeUpstream } from '../support/upstream.ts';
import type { Receiver } from '../support/webhook-world.ts';
import type { FaultedServer } from './server.ts';
import type { Surroundings } from './surroundings.ts';

/** Numbers from 0 to 1 that the seed decides. */
export type Random = () => number;

/** Ends the fault. Resolves when nothing is in the way any more; recovery is measured from then on. */
export type Undo = () => Promise<void>;

/** Faults of different parts may overlap. */
export type Part = 'process' | 'database' | 'disk' | 'clock' | 'network' | 'far ends';

/** One kind of fault: a row of `catalog.ts`. */
export interface Fault {
  readonly name: string;
  readonly part: Part;
  /** Default: both. */
  readonly stores?: readonly StoreKind[];
  /** How many processes it requires. Default: 1. */
  readonly processes?: number;
  /** It starts a process when it begins, which may fail on what is broken. */
  readonly isStart?: true;
  /** How often it is chosen, compared to others. Default: 1. */
  readonly weight?: number;
  /** Milliseconds from its beginning to its end. Default: up to a second. */
  readonly lastsMs?: (random: Random, world: World) => number;
  /** Begins the fault. */
  apply(world: World, random: Random): Promise<Undo>;
}

/** What faults can reach. */
export interface World {
  readonly store: StoreKind;
  /** Whether this is a run of hundreds of faults, in which one may last 30 s. */
  readonly isLong: boolean;
  readonly servers: readonly FaultedServer[];
  /** One more process on the store, which nobody asks. It does not run unless a fault starts it. */
  readonly spare: FaultedServer;
  readonly surroundings: Surroundings;
  readonly far: FarEnds;
}

/** Servers on loopback that the processes ask, each by way of `surroundings`. */
export interface FarEnds {
  readonly model: ModelServer;
  readonly upstream: FakeUpstream;
  readonly receiver: Receiver;
}

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('There is nothing to choose from.');
  return item;
}

/** How long a fault lasts: mostly not much longer than the least, and sometimes nearly the most. */
export function lasting(random: Random, least: number, most: number): number {
  return between(() => random() ** 3, least, most);
}

/** A whole number of milliseconds between the two. */
export function between(random: Random, least: number, most: number): number {
  return Math.round(least + random() * (most - least));
}
