import { derivedTables } from '../../sql/derived-tables.ts';
import { rawTables } from '../../sql/raw-tables.ts';
import type { Database } from '../database.ts';

/** Soon enough for people, late enough that several removals share one round. */
const SOON_MS = 1000;
const TABLES = [...Object.keys(rawTables), ...derivedTables.map(({ name }) => name)].map((name) => `imported.${name}`);

/** Has the space of removed rows cleared, which the database itself does only where many rows of a table went. */
export class Vacuuming {
  readonly #database: Database;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(database: Database) {
    this.#database = database;
  }

  soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, SOON_MS).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Where it fails, the database does it by itself some day. */
  #run(): Promise<void> {
    const vacuum = { text: `vacuum (skip_locked) ${TABLES.join(', ')}` };
    return this.#database
      .patiently((session) => session.query(vacuum))
      .then(
        () => {},
        () => {},
      );
  }
}
