/**
 * Vectors of the texts of records. They are derived data: in no version, audit entry or export. What is lost is computed again. Nobody
 * decides by them what a caller may see.
 */
export interface Embeddings {
  /** All that is kept, or what was put after the place of an earlier read, in batches. The last place is where to go on. */
  read(after?: number): AsyncIterable<EmbeddingBatch>;
  /** Keeps all of them or none, durable when it resolves. One of the same record and model is replaced. @throws StoreUnavailable */
  put(rows: readonly StoredEmbedding[]): Promise<void>;
  /** Removes all that is kept of these records. @throws StoreUnavailable */
  remove(records: readonly EmbeddedRecord[]): Promise<void>;
  /** @throws StoreUnavailable */
  removeModel(model: string): Promise<void>;
}

export interface EmbeddedRecord {
  readonly collection: string;
  readonly id: string;
}

export interface StoredEmbedding extends EmbeddedRecord {
  readonly model: string;
  /** The state of the record whose parts all have a vector. Empty while some are missing. */
  readonly state: string;
  /** The vectors of its parts, one after the other, in a form of its own. */
  readonly parts: Uint8Array;
}

export interface EmbeddingBatch {
  readonly rows: readonly StoredEmbedding[];
  readonly place: number;
}
