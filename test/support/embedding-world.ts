import { createModels } from '../../tools/core/models/models.ts';
import { SemanticSearch } from '../../tools/embeddings/semantic-search.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { closedAtEnd } from './at-end.ts';
import { principalOf, registryOn } from './registry.ts';
import { openStoreIn } from './store.ts';

export const admin = principalOf({ type: 'api-key', id: 'key_1', scopes: ['admin'] });

interface WorldOptions {
  readonly folder: string;
  readonly baseUrl: string;
  readonly model?: string;
  /** Called before anything is embedded. */
  fill?(must: (tool: string, input: object) => Promise<unknown>): Promise<void>;
}

/** A store and a registry whose texts are embedded, as in a server. */
export async function openEmbeddingWorld({ folder, baseUrl, model = 'tiny', fill }: WorldOptions) {
  const store = await openStoreIn(folder);
  await prepareSettings(store);
  const models = createModels({ providers: [{ kind: 'custom', baseUrl }], embedding: `custom/${model}` });
  const failures: unknown[] = [];
  const meaning = new SemanticSearch({
    store,
    models,
    now: () => new Date(),
    onFailure: (cause) => failures.push(cause),
  });
  const { must: mustAs } = registryOn(store, { semanticSearch: meaning, models });
  const must = (tool: string, input: object = {}) => mustAs(admin, tool, input);
  await fill?.(must);
  await meaning.start();
  const close = closedAtEnd(async () => {
    await meaning.close();
    await store.close();
  });
  const health = async () => (await meaning.health())[0];
  const isEmbedded = async () => {
    const { texts } = (await health()) ?? {};
    return texts !== undefined && texts.records > 0 && texts.embedded === texts.records;
  };
  const search = (q: string) => must('search_passages', { q });
  return { store, meaning, must, mustAs, search, health, isEmbedded, failures, close };
}
