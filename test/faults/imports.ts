import type { Caller, Client } from './client.ts';
import type { Violations, Work } from './work.ts';

const ROWS = 4;

interface Batch {
  readonly name: string;
  /** Undefined: the answer was cut. */
  readonly isStored: boolean | undefined;
}

/** One caller who imports batches of rows: each is there as a whole or not at all. */
export class Imports implements Work {
  readonly name = 'imports';
  readonly everyMs = 700;
  readonly #client: Client;
  readonly #caller: Caller;
  readonly #violations: Violations;
  #unchecked: Batch[] = [];
  #stored = 0;
  #uncertain = 0;
  #made = 0;

  constructor(client: Client, caller: Caller, violations: Violations) {
    this.#client = client;
    this.#caller = caller;
    this.#violations = violations;
  }

  async step(): Promise<void> {
    this.#made += 1;
    const name = `batch${this.#made}q`;
    const records = Array.from({ length: ROWS }, (_, at) => ({
      ...{ uid: `${name}${at}`, email: `${name}${at}@example.com`, status: 'FREE', createdAt: '2026-01-15' },
    }));
    const outcome = await this.#client.call(this.#caller, 'import_records', { type: 'users', records });
    const isRight = outcome.is === 'done' || ['unavailable', 'no connection', 'cut'].includes(outcome.code);
    this.#violations.expect(isRight, () => `an import was refused: ${JSON.stringify(outcome)}`);
    const isStored = outcome.is === 'done' ? true : outcome.is === 'refused' ? false : undefined;
    if (isStored) this.#stored += 1;
    if (isStored === undefined) this.#uncertain += 1;
    this.#unchecked.push({ name, isStored });
  }

  async check(isLast: boolean): Promise<void> {
    const batches = this.#unchecked;
    this.#unchecked = [];
    for (const { name, isStored } of batches) {
      const found = await this.#count({ search: name });
      if (found === undefined) continue;
      const isRight = isStored === undefined ? found === 0 || found === ROWS : found === (isStored ? ROWS : 0);
      this.#violations.expect(
        isRight,
        () => `${found} of ${ROWS} rows of ${name} are there, which was ${isStored ? '' : 'not '}stored`,
      );
    }
    const all = isLast ? await this.#count({}) : undefined;
    if (all === undefined) return;
    const least = this.#stored * ROWS;
    const isRight = all >= least && all <= least + this.#uncertain * ROWS;
    this.#violations.expect(
      isRight,
      () => `${all} rows are there after ${least} acknowledged and ${this.#uncertain} cut batches`,
    );
  }

  async #count(filter: object): Promise<number | undefined> {
    const outcome = await this.#client.look(this.#caller, 'list_users', { ...filter, limit: 1, includeTotal: true });
    if (outcome.is === 'done') return outcome.output.total;
    this.#violations.found(`imported rows were not listed: ${outcome.message}`);
    return undefined;
  }
}
