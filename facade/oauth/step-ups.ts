import type { Cluster } from '../../store/cluster-port.ts';
import { createTtlCache, type TtlCache } from './ttl-cache.ts';

/** How long after a refusal a refresh counts as its consequence. */
const ANSWERED_WITHIN_MS = 5000;

/**
 * Apps whose call was just refused because it needs more than they were given. Some clients answer that with a refresh, which cannot give more, and
 * then give up; where the refresh is refused once, they ask the person again. The refused token stays good for clients that ask by themselves.
 */
export class StepUps {
  readonly #noted: TtlCache<object>;

  constructor(cluster: Cluster | undefined, now: () => Date) {
    this.#noted = createTtlCache('step-up', { cluster, periodMs: ANSWERED_WITHIN_MS, now });
  }

  note(appId: string): Promise<void> {
    return this.#noted.put(appId, {});
  }

  /** Whether the app's refresh is to be refused: once after each refusal of a call. */
  async take(appId: string): Promise<boolean> {
    return (await this.#noted.take(appId)) !== undefined;
  }
}
