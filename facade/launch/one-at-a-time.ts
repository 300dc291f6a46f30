import type { Store } from '../../store/port.ts';

/** Runs what prepares the store, while no other process that starts does the same. */
export function oneAtATime<Result>({ cluster }: Pick<Store, 'cluster'>, work: () => Promise<Result>): Promise<Result> {
  return cluster ? cluster.inTurn('start', work) : work();
}
