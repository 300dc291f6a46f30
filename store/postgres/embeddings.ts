import type { EmbeddedRecord, EmbeddingBatch, Embeddings, StoredEmbedding } from '../embeddings-port.ts';
import type { Database } from './database.ts';

/** Whoever puts embeddings holds it until the commit, so that places become visible in their order. */
const LOCK = 7_307_030;
const BATCH = 200;

interface EmbeddingRow {
  readonly collection: string;
  readonly record_id: string;
  readonly model: string;
  readonly state: string;
  readonly parts: Buffer;
  readonly place: string;
}

export class PostgresEmbeddings implements Embeddings {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async *read(after = 0): AsyncGenerator<EmbeddingBatch, void> {
    for (let place = after; ; ) {
      const found = await this.#database.query<EmbeddingRow>({
        name: 'read embeddings',
        text: READ,
        values: [place, BATCH],
      });
      place = Number(found.at(-1)?.place ?? place);
      const rows = found.map(({ collection, record_id: id, model, state, parts }) => ({
        collection,
        id,
        model,
        state,
        parts,
      }));
      yield { rows, place };
      if (found.length < BATCH) return;
    }
  }

  async put(rows: readonly StoredEmbedding[]): Promise<void> {
    const values = [
      rows.map(({ collection }) => collection),
      rows.map(({ id }) => id),
      rows.map(({ model }) => model),
      rows.map(({ state }) => state),
      rows.map(({ parts }) => Buffer.from(parts.buffer, parts.byteOffset, parts.byteLength)),
    ];
    await this.#database.query({ name: 'put embeddings', text: PUT, values });
  }

  async remove(records: readonly EmbeddedRecord[]): Promise<void> {
    if (records.length === 0) return;
    const values = [records.map(({ collection }) => collection), records.map(({ id }) => id)];
    await this.#database.query({ name: 'remove embeddings', text: REMOVE, values });
  }

  async removeModel(model: string): Promise<void> {
    await this.#database.query({ text: 'delete from embeddings where model = $1', values: [model] });
  }
}

const READ = `select collection, record_id, model, state, parts, place from embeddings
  where place > $1 order by place limit $2`;

const PUT = `with locked as materialized (select pg_advisory_xact_lock(${LOCK})),
    given as (select * from locked, unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
      as row (collection, record_id, model, state, parts))
  insert into embeddings (collection, record_id, model, state, parts, place)
    select collection, record_id, model, state, parts, nextval('embeddings_place') from given
  on conflict (collection, record_id, model) do update
    set state = excluded.state, parts = excluded.parts, place = excluded.place`;

const REMOVE = `delete from embeddings using unnest($1::text[], $2::text[]) as gone (collection, record_id)
  where embeddings.collection = gone.collection and embeddings.record_id = gone.record_id`;
