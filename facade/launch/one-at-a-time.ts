import type { OpenProgress } from '../../store/open-progress.ts';
import type { Store } from '../../store/port.ts';

/** Runs what prepares the store, while no other process that starts does the same. */
export function oneAtATime<Result>(
  { cluster }: Pick<Store, 'cluster'>,
  work: () => Promise<Result>,
  opening: OpenProgress,
): Promise<Result> {
  const { signal } = opening;
  const onWait = () => opening.step('waiting for another process that starts, or died while it did');
  return cluster ? cluster.inTurn('start', work, { signal, onWait }) : work();
}
