import { gauge, type Measure, type Measured, type Meter } from '../core/telemetry/meter.ts';
import type { SemanticSearch } from './semantic-search.ts';

const RECORDS = {
  name: 'agent_admin.embeddings.records',
  unit: '{record}',
  help: 'Records that search by meaning looks in, with all their vectors (complete) or not (missing).',
  labels: ['agent_admin.embeddings.kind', 'agent_admin.embeddings.state'],
};
const FAILING = {
  name: 'agent_admin.embeddings.failing',
  unit: '1',
  help: 'Whether texts get no vectors, or questions get none here: 1 or 0.',
};

/** What is read of embeddings, for the reference. */
export const EMBEDDING_GAUGES = [RECORDS, FAILING].map((measure: Measure) => ({ measure, kind: 'gauge' }) as const);

/** All processes on one store answer the same. Nothing without an embedding model. */
export function measureEmbeddings(meter: Meter, meaning: Pick<SemanticSearch, 'health'>): void {
  meter.observe(async () => {
    const [found] = await meaning.health();
    if (!found?.texts) return [];
    const points = found.texts.kinds.flatMap(({ type, records, embedded }) => [
      { labels: [type, 'complete'], value: embedded },
      { labels: [type, 'missing'], value: records - embedded },
    ]);
    const counted: Measured = { measure: RECORDS, kind: 'gauge', points };
    return [counted, gauge(FAILING, found.status === 'ok' ? 0 : 1)];
  });
}
