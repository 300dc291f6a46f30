import { setTimeout } from 'node:timers/promises';

/** How long until the store is asked again where it refused. */
const AGAIN_MS = 2000;

interface ReadOptions {
  /** Ends the attempts. */
  readonly signal: AbortSignal;
  onFailure(cause: unknown): void;
}

/** Reads again what changed unheard, until the store answers. Each failure is told. */
export async function readWithRetry(read: () => Promise<unknown>, { signal, onFailure }: ReadOptions): Promise<void> {
  while (!signal.aborted) {
    try {
      await read();
      return;
    } catch (cause) {
      onFailure(cause);
      await setTimeout(AGAIN_MS, undefined, { signal, ref: false }).catch(() => {}); // ended
    }
  }
}
