import { rm } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { StoredEmbedding } from '../../store/embeddings-port.ts';
import type { Store } from '../../store/port.ts';
import type { EmbeddingModel } from '../../tools/core/models/embedding-model.ts';
import { passagesOf } from '../../tools/documents/passages.ts';
import { CALIBRATION, UNRELATED } from '../../tools/embeddings/calibration.ts';
import { SemanticSearch } from '../../tools/embeddings/semantic-search.ts';
import { partsOf, sourceOf } from '../../tools/embeddings/texts.ts';
import { hashOf, packParts, vectorOf } from '../../tools/embeddings/vectors.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { principalOf, registryOn } from '../support/registry.ts';
import { dataFolder, onPostgres, openStoreIn, storeOfRun } from '../support/store.ts';
import { startBenchPostgres } from './analytics-postgres.ts';

/**
 * One `search_passages` among 100,000 passages with random vectors of 512 numbers, with and without a model: the processor time of this
 * process (and of PostgreSQL), and how long others wait. Run with `npx tsx test/bench/passages.ts`; `TEST_STORE=postgres` for the other store.
 */
const DOCUMENTS = Number(process.env.BENCH_DOCUMENTS ?? 10_000);
const PASSAGES = 10;
const WORDS = 60;
const NUMBERS = 512;
const RUNS = 21;
const MODEL = 'bench/random';

let state = 7;
function random(): number {
  state = (state * 48271) % 2147483647;
  return state / 2147483647;
}

const syllables = 'ka ro mi ten sol ur pa lin de vo sha ber qui nox ti gra'.split(' ');
const word = () =>
  Array.from({ length: 2 + Math.floor(random() * 3) }, () => syllables[Math.floor(random() * 16)]).join('');
const vocabulary = [...new Set(Array.from({ length: 45_000 }, word))].slice(0, 30_000);
const common = () => vocabulary[Math.floor(vocabulary.length ** random()) - 1] ?? 'the';
const words = (count: number) => Array.from({ length: count }, common).join(' ');
const vector = () => Array.from({ length: NUMBERS }, () => random() - 0.5);

const model: EmbeddingModel = {
  id: MODEL,
  embed: async (texts) => ({ vectors: texts.map(vector), tokens: texts.length }),
};

async function fill(store: Store): Promise<void> {
  for (let from = 0; from < DOCUMENTS; from += 200) {
    const rows = await store.transaction(({ documents }) =>
      Promise.all(
        Array.from({ length: 200 }, () => {
          const sections = Array.from({ length: PASSAGES }, () => `## ${words(3)}\n\n${words(WORDS)}.`);
          return documents.insert({ title: words(4), content: sections.join('\n\n'), tags: [] } as never);
        }),
      ),
    );
    await store.embeddings.put(
      rows.map((row): StoredEmbedding => {
        const source = sourceOf('documents', row);
        const parts = partsOf('documents', row, source).map(({ text }) => ({
          hash: hashOf(text),
          ...vectorOf(vector()),
        }));
        return { collection: 'documents', id: row.id, model: MODEL, state: source.state, parts: packParts(parts) };
      }),
    );
  }
  const parts = UNRELATED.map((text) => ({ hash: hashOf(text), ...vectorOf(vector()) }));
  await store.embeddings.put([{ ...CALIBRATION, model: MODEL, parts: packParts(parts) }]);
}

const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;
const most = (numbers: readonly number[]) => Math.max(...numbers);

const folder = await dataFolder();
const postgres = onPostgres ? await startBenchPostgres() : undefined;
const store = postgres ? await postgres.open() : await openStoreIn(folder);
await prepareSettings(store);
await fill(store);
await postgres?.settle();
const [document] = (await store.documents.find({ limit: 1 })).records;
if (!document) throw new Error('The store is empty.');
console.log(`${storeOfRun}: ${DOCUMENTS} documents, ${DOCUMENTS * passagesOf(document.content).length} passages`);
const admin = principalOf({ type: 'api-key', id: 'key_1', scopes: ['admin'] });
const models = { embedding: MODEL, findEmbedding: () => model };
const meaning = new SemanticSearch({
  store,
  models,
  now: () => new Date(),
  onFailure: (cause) => console.error(cause),
});
const heap = process.memoryUsage();
const started = performance.now();
await meaning.start();
const arrays = process.memoryUsage().arrayBuffers - heap.arrayBuffers;
console.log(
  `vectors: ${Math.round(performance.now() - started)} ms to read, ${Math.round(arrays / 1e6)} MB beside the heap`,
);

const middling = () => vocabulary[200 + Math.floor(random() * 500)] ?? '';
const rare = () => vocabulary[3000 + Math.floor(random() * 9000)] ?? '';
const queries: Readonly<Record<string, () => string>> = {
  'rare words': () => `${rare()} ${rare()}`,
  'a question': () => `${common()} ${middling()} ${middling()} ${rare()} ${common()} ${common()}`,
  'frequent words': () => vocabulary.slice(0, 6).join(' '),
};
for (const [by, registry] of [
  ['by words', registryOn(store)],
  ['with a model', registryOn(store, { semanticSearch: meaning })],
] as const) {
  for (const [name, query] of Object.entries(queries)) {
    const [processor, database, elapsed]: [number[], number[], number[]] = [[], [], []];
    await registry.must(admin, 'search_passages', { q: query() });
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    for (let run = 0; run < RUNS; run += 1) {
      const before = process.cpuUsage();
      const databaseBefore = postgres?.processorMs() ?? 0;
      const began = performance.now();
      await registry.must(admin, 'search_passages', { q: query() });
      elapsed.push(performance.now() - began);
      const { user, system } = process.cpuUsage(before);
      processor.push((user + system) / 1000);
      database.push((postgres?.processorMs() ?? 0) - databaseBefore);
    }
    delay.disable();
    const figures = [
      `processor ${median(processor).toFixed(1)} ms (${most(processor).toFixed(1)} at most)`,
      ...(postgres ? [`of PostgreSQL ${median(database)} ms`] : []),
      `elapsed ${median(elapsed).toFixed(1)} ms`,
      `others wait ${(delay.percentile(99) / 1e6).toFixed(1)} ms (p99)`,
    ];
    console.log(`${by}, ${name}: ${figures.join(', ')}`);
  }
}
await meaning.close();
await store.close();
await postgres?.stop();
await rm(folder, { recursive: true, force: true });
process.exit(0);
