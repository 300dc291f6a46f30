import { hash } from 'node:crypto';
import type { Measure, Meter } from '../telemetry/meter.ts';
import { Circuit, type CircuitOptions } from './circuit.ts';
import type { ProviderSettings } from './providers.ts';

interface KnownCircuit {
  readonly circuit: Circuit;
  readonly kind: string;
}

type Addressed = Pick<ProviderSettings, 'kind' | 'baseUrl'>;

/** One circuit for each provider, and one for its embeddings. One that gets another address is another provider. */
export class Circuits {
  readonly #options: CircuitOptions;
  /** By the names of providers, those that were asked for last. */
  readonly #all = new Map<string, KnownCircuit>();
  readonly #ofEmbeddings = new Map<string, KnownCircuit>();

  constructor(options: CircuitOptions, meter: Meter) {
    this.#options = options;
    meter.observe(async () => {
      await this.refresh();
      const open = new Map<string, number>();
      for (const { circuit, kind } of this.#all.values()) {
        open.set(kind, (open.get(kind) ?? 0) + (circuit.opensAgainMs === undefined ? 0 : 1));
      }
      const points = Array.from(open, ([kind, value]) => ({ labels: [kind], value }));
      return [{ measure: OPEN, kind: 'gauge', points }];
    });
  }

  of(provider: string, settings: Addressed): Circuit {
    return this.#known(this.#all, provider, settings);
  }

  /** That of its embeddings, which can fail while its conversations go on. What is read of circuits leaves it out. */
  ofEmbeddings(provider: string, settings: Addressed): Circuit {
    return this.#known(this.#ofEmbeddings, `${provider} embeddings`, settings);
  }

  #known(all: Map<string, KnownCircuit>, name: string, { kind, baseUrl = '' }: Addressed): Circuit {
    const id = `${name} ${hash('sha256', `${kind} ${baseUrl}`, 'base64url')}`;
    const kept = all.get(name);
    if (kept?.circuit.id === id) return kept.circuit;
    const circuit = new Circuit(name, { ...this.#options, id });
    all.set(name, { circuit, kind });
    return circuit;
  }

  /** Reads what other processes found out. */
  async refresh(): Promise<void> {
    await Promise.all([...this.#all.values()].map(({ circuit }) => circuit.refresh()));
  }
}

const OPEN = {
  name: 'agent_admin.model_providers.circuit_open',
  unit: '{provider}',
  help: 'Model providers that are left alone because they failed again and again, by kind.',
  labels: ['gen_ai.provider.name'],
};

/** What is read of circuits, for the reference. */
export const CIRCUIT_GAUGES = [OPEN].map((measure: Measure) => ({ measure, kind: 'gauge' }) as const);
