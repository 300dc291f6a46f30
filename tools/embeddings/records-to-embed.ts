import { setImmediate } from 'node:timers/promises';
import type { EmbeddedRecord } from '../../store/embeddings-port.ts';
import { pagesOf } from '../../store/pages.ts';
import type { Reader, Store } from '../../store/port.ts';
import type { EmbeddingModel } from '../core/models/embedding-model.ts';
import type { EmbeddingIndex } from './embedding-index.ts';
import { EMBEDDED, type EmbeddedCollection, isEmbedded, sourceOf, type TextRecord } from './texts.ts';

const PAGE = 50;

export type RecordToEmbed = EmbeddedRecord & { readonly collection: EmbeddedCollection };

interface Looked {
  readonly store: Store;
  readonly index: EmbeddingIndex;
  readonly model: EmbeddingModel | undefined;
}

/** Records that lack vectors, and records that are gone while their vectors are not. */
export async function* recordsToEmbed({ store, index, model }: Looked): AsyncGenerator<RecordToEmbed, void> {
  const set = model && index.setOf(model.id);
  for (const collection of set ? EMBEDDED : []) {
    const records = store[collection] as Pick<Reader<TextRecord>, 'find'>; // each has these members
    for await (const page of pagesOf(records, { limit: PAGE, order: 'oldest' })) {
      for (const record of page) {
        const { state } = sourceOf(collection, record);
        if (set?.get({ collection, id: record.id })?.state !== state) yield { collection, id: record.id };
      }
      await setImmediate();
    }
  }
  const kept = new Map([...index.sets.values()].flatMap(({ records }) => [...records]));
  for (const { collection, id } of kept.values()) {
    if (isEmbedded(collection) && !(await store[collection].get(id))) yield { collection, id };
  }
}
