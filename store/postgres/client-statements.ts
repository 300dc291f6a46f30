import type pg from 'pg';
import { QUICK_ANSWER_MS } from './connection-pool.ts';
import { asStoreError, isConnectionLost } from './failures.ts';
import type { ClientSession, Statement } from './session.ts';

const asTexts: pg.CustomTypesConfig = { getTypeParser: () => (value: string) => value };

/** Runs statements on one connection. */
export class ClientStatements implements ClientSession {
  readonly #client: pg.ClientBase;
  readonly #onFailure: (cause: unknown) => void;
  isLost = false;

  constructor(client: pg.ClientBase, onFailure: (cause: unknown) => void) {
    this.#client = client;
    this.#onFailure = onFailure;
  }

  async query<Row extends object = Record<string, unknown>>(statement: Statement) {
    const result = await this.#guarded(() => this.#client.query<Row>(configOf(statement)));
    // A text of several statements has one result for each.
    return Array.isArray(result) ? (result.at(-1)?.rows ?? []) : result.rows;
  }

  answer(statement: Statement) {
    const config = { ...configOf(statement), rowMode: 'array' as const, types: asTexts };
    return this.#guarded(() => this.#client.query<(string | null)[]>(config));
  }

  async #guarded<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run();
    } catch (cause) {
      if (isConnectionLost(cause)) this.isLost = true;
      this.#onFailure(cause);
      throw asStoreError(cause, 'the database did not answer');
    }
  }
}

const configOf = ({ name, text, values, isQuick }: Statement) => ({
  text,
  ...(name && { name }),
  ...(values && { values: [...values] }),
  // `pg` reads it, which its types do not know.
  ...(isQuick && { query_timeout: QUICK_ANSWER_MS }),
});
