import type { PlainType, StatedType } from '../../rows/records.ts';
import type { SqlConnection } from '../../rows-port.ts';
import { type Touched, touchedKeys } from '../derived-table.ts';
import { derivedTables } from '../derived-tables.ts';
import { itemsOf, listOf } from '../lists.ts';
import { createTable } from '../raw-tables.ts';
import type { TouchedRecords } from './stated-rows.ts';

const names = Object.keys(touchedKeys) as Touched[]; // the names of its members

export async function createTouchedTables(connection: SqlConnection): Promise<void> {
  for (const name of names) await connection.run(createTable(`touched_${name}`, touchedKeys[name], 'temporary table'));
}

/** The keys that one write touched, in temporary tables of its connection. */
export class TouchedTables {
  readonly #connection: SqlConnection;
  readonly #filled = new Set<Touched>();

  constructor(connection: SqlConnection) {
    this.#connection = connection;
  }

  /** Notes the visitors or events of the batch that was written, and of what it replaced. */
  async ofPlain(type: PlainType): Promise<void> {
    if (type === 'visits') await this.#fromBatch('visitors', 'visitor', type);
    if (type === 'events') await this.#fromBatch('events', 'person, at_ms', type);
  }

  async ofStated(type: StatedType, { ids, owners }: TouchedRecords): Promise<void> {
    if (ids.length === 0) return;
    await this.add(type, ids);
    if (type === 'subscriptions') await this.add('customers', [...owners]);
  }

  async add(name: Exclude<Touched, 'visitors' | 'events'>, keys: readonly string[]): Promise<void> {
    const [column] = Object.keys(touchedKeys[name]);
    await this.#fill(
      name,
      `select distinct item from ${itemsOf('$1')} as items where item not in (select ${column} from touched_${name})`,
      [listOf(keys)],
    );
  }

  async renew(): Promise<void> {
    for (const { follows, renew } of derivedTables) {
      if (!follows.some((name) => this.#filled.has(name))) continue;
      for (const sql of renew) await this.#connection.run(sql);
    }
    await this.forget();
  }

  async forget(): Promise<void> {
    if (this.#filled.size === 0) return;
    // What is renewed may add further keys.
    for (const name of names) await this.#connection.run(`delete from touched_${name}`);
    this.#filled.clear();
  }

  async select(name: Touched, sql: string, parameters: readonly string[] = []): Promise<void> {
    await this.#fill(name, sql, parameters);
  }

  #fromBatch(name: Touched, columns: string, type: PlainType): Promise<void> {
    const of = (table: string) => `select ${columns} from ${table}_${type}`;
    return this.#fill(name, `${of('batch')} union ${of('old')}`);
  }

  async #fill(name: Touched, sql: string, parameters: readonly string[] = []): Promise<void> {
    const count = await this.#connection.run(`insert into touched_${name} ${sql}`, parameters);
    if (count === 0) return;
    this.#filled.add(name);
    await this.#connection.filled?.(`touched_${name}`, count);
  }
}
