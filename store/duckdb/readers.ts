import { ResourcePool } from '../resource-pool.ts';
import type { ReadOptions, RowSnapshot } from '../rows-port.ts';
import type { Connection } from './connection.ts';

/** Connections that answer questions, one question at a time each. Other questions wait in the order in which they came. */
export class Readers {
  readonly #connections: ResourcePool<Connection>;

  constructor(connections: readonly Connection[]) {
    this.#connections = new ResourcePool(connections);
  }

  /** Runs the work on one state of the rows. @throws the reason of the signal when it is aborted */
  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, { signal }: ReadOptions = {}): Promise<Result> {
    signal?.throwIfAborted();
    const connection = await this.#connections.take(signal);
    const interrupt = () => connection.interrupt();
    signal?.addEventListener('abort', interrupt);
    try {
      const query: RowSnapshot['query'] = (named, parameters) => {
        signal?.throwIfAborted();
        return connection.query(named, parameters);
      };
      return await connection.transaction(() => work({ query }), 'read only');
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', interrupt);
      this.#connections.giveBack(connection);
    }
  }

  /** Closes the connections once nobody uses them. */
  async close(): Promise<void> {
    for (const connection of await this.#connections.allBack()) connection.close();
  }
}
