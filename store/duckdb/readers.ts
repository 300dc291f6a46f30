import type { ReadOptions, RowSnapshot } from '../rows-port.ts';
import type { Connection } from './connection.ts';

/** Connections that answer questions, one question at a time each. Other questions wait in the order in which they came. */
export class Readers {
  readonly #idle: Connection[];
  readonly #all: readonly Connection[];
  readonly #waiting: ((connection: Connection) => void)[] = [];
  #closed: (() => void) | undefined;

  constructor(connections: readonly Connection[]) {
    this.#all = connections;
    this.#idle = [...connections];
  }

  /** Runs the work on one state of the rows. @throws the reason of the signal when it is aborted */
  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, { signal }: ReadOptions = {}): Promise<Result> {
    signal?.throwIfAborted();
    const connection = await this.#take(signal);
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
      this.#release(connection);
    }
  }

  /** Closes the connections once nobody uses them. */
  async close(): Promise<void> {
    if (this.#idle.length < this.#all.length) {
      await new Promise<void>((resolve) => {
        this.#closed = resolve;
      });
    }
    for (const connection of this.#all) connection.close();
  }

  #take(signal: AbortSignal | undefined): Promise<Connection> {
    const idle = this.#idle.pop();
    if (idle) return Promise.resolve(idle);
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(given), 1);
        reject(signal?.reason);
      };
      const given = (connection: Connection) => {
        signal?.removeEventListener('abort', leave);
        resolve(connection);
      };
      this.#waiting.push(given);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #release(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next) next(connection);
    else this.#idle.push(connection);
    if (this.#idle.length === this.#all.length) this.#closed?.();
  }
}
