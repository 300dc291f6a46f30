import type { FlowDeliveryRecord } from '../../../resources/flow-delivery.ts';
import { startPeriodicTask } from '../../../store/periodic-task.ts';
import type { Store } from '../../../store/port.ts';
import { expiryOf } from './deliveries.ts';

const MINUTE_MS = 60_000;
const MOST_KINDS = 1000;
const LONGEST_REASON = 1000;

export type UnstartedDelivery = Pick<FlowDeliveryRecord, 'flowId' | 'scheme' | 'outcome'> &
  Partial<Pick<FlowDeliveryRecord, 'event' | 'reason'>>;

/** A note that was written, and what came since. */
interface LoggedDelivery {
  readonly id: Promise<string | undefined>;
  more: number;
  lastAt: string;
}

/** Logs deliveries that began no run. The first of a kind is written at once, later ones are counted, so that floods cause few writes. */
export class DeliveryLog {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #onFailure: (cause: unknown) => void;
  readonly #written = new Map<string, LoggedDelivery>();
  readonly #flushing;

  constructor(store: Store, now: () => Date, onFailure: (cause: unknown) => void) {
    this.#store = store;
    this.#now = now;
    this.#onFailure = onFailure;
    this.#flushing = startPeriodicTask(() => this.#flush(), onFailure, MINUTE_MS);
  }

  /** Writes in the background, so that nobody can tell by the time of the answer whether something is written. */
  note(noted: UnstartedDelivery): void {
    const { flowId, outcome, event = '', reason = '' } = noted;
    const kind = JSON.stringify([flowId, outcome, outcome === 'bad_signature' ? '' : event, reason]);
    const before = this.#written.get(kind);
    const lastAt = this.#now().toISOString();
    if (before) Object.assign(before, { more: before.more + 1, lastAt });
    else if (this.#written.size < MOST_KINDS) {
      this.#written.set(kind, { id: this.#write(noted), more: 0, lastAt });
    }
  }

  async close(): Promise<void> {
    await this.#flushing.close();
    await this.#flush();
  }

  #write({ reason, ...noted }: UnstartedDelivery): Promise<string | undefined> {
    const shown = reason === undefined ? {} : { reason: reason.slice(0, LONGEST_REASON) };
    const kept = { ...noted, ...shown, count: 1, expiresAt: expiryOf(this.#now()) };
    return new Promise((resolve) => {
      setImmediate(() => {
        const written = this.#store.transaction((tx) => tx.flowDeliveries.insert(kept));
        written.then(
          ({ id }) => resolve(id),
          (cause) => {
            this.#onFailure(cause);
            resolve(undefined);
          },
        );
      });
    });
  }

  async #flush(): Promise<void> {
    const all = [...this.#written.values()];
    this.#written.clear();
    for (const { id: writing, more, lastAt } of all) {
      const id = await writing;
      if (id !== undefined && more > 0) await this.#store.transaction((tx) => countRepeats(tx, { id, more, lastAt }));
    }
  }
}

interface RepeatedDelivery {
  readonly id: string;
  readonly more: number;
  readonly lastAt: string;
}

export async function countRepeats(
  { flowDeliveries }: Pick<Parameters<Parameters<Store['transaction']>[0]>[0], 'flowDeliveries'>,
  { id, more, lastAt }: RepeatedDelivery,
): Promise<void> {
  const found = await flowDeliveries.get(id);
  if (found) await flowDeliveries.touch(id, { count: found.count + more, lastAt });
}
