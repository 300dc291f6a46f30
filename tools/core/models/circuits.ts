import type { Measure, Meter } from '../telemetry/meter.ts';
import { Circuit, type CircuitOptions } from './circuit.ts';

/** One circuit for each provider. */
export class Circuits {
  readonly #options: CircuitOptions;
  readonly #all = new Map<string, Circuit>();

  constructor(options: CircuitOptions, meter: Meter) {
    this.#options = options;
    meter.observe(async () => {
      await this.refresh();
      const points = [...this.#all.values()].map(({ provider, opensAgainMs }) => ({
        labels: [provider],
        value: opensAgainMs === undefined ? 0 : 1,
      }));
      return [{ measure: OPEN, kind: 'gauge', points }];
    });
  }

  of(provider: string): Circuit {
    const found = this.#all.get(provider) ?? new Circuit(provider, this.#options);
    this.#all.set(provider, found);
    return found;
  }

  /** Reads what other processes found out. */
  async refresh(): Promise<void> {
    await Promise.all([...this.#all.values()].map((circuit) => circuit.refresh()));
  }
}

const OPEN = {
  name: 'agent_admin.model_provider.circuit_open',
  unit: '1',
  help: 'Whether a model provider is left alone because it failed again and again: 1 or 0.',
  labels: ['gen_ai.provider.name'],
};

/** What is read of circuits, for the reference. */
export const CIRCUIT_GAUGES = [OPEN].map((measure: Measure) => ({ measure, kind: 'gauge' }) as const);
