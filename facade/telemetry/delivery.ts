import type { Logger } from 'pino';
import type { IntegrationHealth } from '../../resources/health.ts';
import type { Dependency } from '../../tools/core/registry/context.ts';

/** What an exporter of OpenTelemetry calls back with: 0 where the collector took everything. */
interface Result {
  readonly code: number;
  readonly error?: Error;
}

interface Exporter {
  export(batch: never, done: (result: Result) => void): void;
}

const LONGEST_ERROR = 300;

/** Notes how deliveries to the collector go, for the state of the system, and logs once when they begin to fail or work again. */
export class Delivery implements Dependency {
  readonly #logger: Logger;
  readonly #address: string;
  #known: Pick<IntegrationHealth, 'status' | 'latencyMs' | 'lastError'> = { status: 'ok', latencyMs: 0 };

  constructor(address: string, logger: Logger) {
    this.#address = address;
    this.#logger = logger;
  }

  async health(): Promise<readonly IntegrationHealth[]> {
    return [{ name: `OpenTelemetry at ${this.#address}`, kind: 'telemetry', ...this.#known }];
  }

  watch<Watched extends Exporter>(exporter: Watched): Watched {
    const send = exporter.export.bind(exporter);
    exporter.export = (batch, done) => {
      const begun = performance.now();
      send(batch, (result) => {
        this.note(result.code === 0 ? undefined : (result.error ?? new Error('It failed.')), performance.now() - begun);
        done(result);
      });
    };
    return exporter;
  }

  note(error: Error | undefined, ms = 0): void {
    const was = this.#known.status;
    const latencyMs = Math.round(ms * 1000) / 1000;
    const lastError = error?.message.slice(0, LONGEST_ERROR);
    this.#known = { status: error ? 'degraded' : 'ok', latencyMs, ...(lastError !== undefined && { lastError }) };
    if (error && was === 'ok') {
      this.#logger.warn({ collector: this.#address, reason: lastError }, 'traces and metrics are not taken');
    } else if (!error && was !== 'ok') this.#logger.info({ collector: this.#address }, 'traces and metrics are taken');
  }
}
