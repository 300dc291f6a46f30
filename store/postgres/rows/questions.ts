import { ResourcePool } from '../../resource-pool.ts';
import type { ReadOptions, RowSnapshot } from '../../rows-port.ts';
import { withRetries } from '../attempts.ts';
import type { Database } from '../database.ts';
import type { ClientSession } from '../session.ts';
import { beginReading, RowConnection } from './connection.ts';

/** Answers so many questions at a time, each on one state of the rows. Others wait in the order in which they came. */
export class Questions {
  readonly #database: Database;
  readonly #places: ResourcePool<number>;

  constructor(database: Database, atOnce: number) {
    this.#database = database;
    this.#places = new ResourcePool(Array.from({ length: atOnce }, (_, place) => place));
  }

  /** @throws the reason of the signal when it is aborted */
  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, { signal }: ReadOptions = {}): Promise<Result> {
    signal?.throwIfAborted();
    const place = await this.#places.take(signal);
    try {
      return await withRetries(() => this.#database.use((session) => this.#answer(session, work, signal)));
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      this.#places.giveBack(place);
    }
  }

  /** Resolves once no question is being answered. */
  async idle(): Promise<void> {
    await this.#places.allBack();
  }

  async #answer<Result>(
    session: ClientSession,
    work: (snapshot: RowSnapshot) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const backend = await beginReading(session);
    let canceled: Promise<unknown> | undefined;
    const cancel = () => {
      canceled = this.#cancel(backend);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    const connection = new RowConnection(session);
    const query: RowSnapshot['query'] = (named, parameters) => {
      signal?.throwIfAborted();
      return connection.query(named, parameters);
    };
    try {
      return await work({ query });
    } finally {
      signal?.removeEventListener('abort', cancel);
      // Otherwise it would cancel a statement of the connection's next user.
      await canceled;
      await endReading(session);
    }
  }

  /** Ends the statement that the backend runs, if any. */
  async #cancel(backend: number): Promise<void> {
    const statement = { text: 'select pg_cancel_backend($1)', values: [backend] };
    // Where it fails, the statement ends by its time-out.
    await this.#database.query(statement).catch(() => {});
  }
}

/** The second time: a cancellation that came late ends the first one. */
async function endReading(session: ClientSession): Promise<void> {
  const end = () => session.query({ text: 'rollback' });
  await end()
    .catch(end)
    .catch(() => {});
}
