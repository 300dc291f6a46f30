import type { IntegrationHealth } from '../../../resources/health.ts';
import type { Dependency } from './context.ts';

/** A finding is shown for this long before a new probe. */
const FRESH_MS = 60_000;
/** How long the first question waits for the first finding. */
const FIRST_ANSWER_MS = 1000;
const LONGEST_ERROR = 300;

interface ProbeOptions {
  readonly name: string;
  readonly kind: string;
  /** Rejects if the other side does not work. Has its own time limit. */
  probe(): Promise<unknown>;
  /** Called once when it begins to fail, and not again until it has worked. */
  onFailure(cause: unknown): void;
}

/** A dependency whose health is the outcome of its last use, or of a probe if the last use is long ago. */
export class ProbedDependency implements Dependency {
  readonly #options: ProbeOptions;
  #known: Omit<IntegrationHealth, 'name' | 'kind'> | undefined;
  #at = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  async health(): Promise<readonly IntegrationHealth[]> {
    const asked = performance.now();
    if (performance.now() - this.#at > FRESH_MS) {
      const running = this.check();
      if (!this.#known) await Promise.race([running, waitFor(FIRST_ANSWER_MS)]);
    }
    const { name, kind } = this.#options;
    const unknown = { status: 'degraded', latencyMs: msSince(asked), lastError: 'It has not answered yet.' } as const;
    return [{ name, kind, ...(this.#known ?? unknown) }];
  }

  /** Probes now, once for all concurrent callers. Never rejects. */
  check(): Promise<void> {
    this.#running ??= this.use(this.#options.probe).then(
      () => this.#done(),
      () => this.#done(),
    );
    return this.#running;
  }

  /** Does work that needs the other side, and notes whether it succeeded. */
  async use<Result>(work: () => Promise<Result>): Promise<Result> {
    const started = performance.now();
    try {
      const result = await work();
      this.#note({ status: 'ok', latencyMs: msSince(started) });
      return result;
    } catch (error) {
      const first = this.#known?.status !== 'down';
      this.#note({ status: 'down', latencyMs: msSince(started), lastError: reasonOf(error) });
      if (first) this.#options.onFailure(error);
      throw error;
    }
  }

  #note(known: Omit<IntegrationHealth, 'name' | 'kind'>): void {
    this.#known = known;
    this.#at = performance.now();
  }

  #done(): void {
    this.#running = undefined;
  }
}

/** The milliseconds, with three decimals. */
export function msSince(started: number): number {
  return Math.round((performance.now() - started) * 1000) / 1000;
}

function reasonOf(error: unknown): string {
  const { message = 'It failed.', cause } = error as Partial<Error>;
  const { message: why = '', code = '' } = (cause ?? {}) as Partial<NodeJS.ErrnoException>; // a cause can be anything
  return [message, why || code].filter(Boolean).join(': ').slice(0, LONGEST_ERROR);
}

function waitFor(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
