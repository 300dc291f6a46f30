import { DelayedTask } from '../../periodic-task.ts';
import type { Database } from '../database.ts';
import type { Session } from '../session.ts';
import { tidyVocabulary } from '../text/vocabulary.ts';

/** Entries of calls that ended while the record was being removed are in by then. */
const SWEEP_AFTER_MS = 2000;

const ERASE = `
with noted as (
  insert into erased_records (id, own_entries) select unnest($1::text[]), $2::text[]
  on conflict (id) do update set swept = false, own_entries = erased_records.own_entries || excluded.own_entries
)
update audit_entries set entry = agent_admin_without_content(entry) where record_ids && $1::text[]`;

const SWEEP = `
with due as (select id, own_entries from erased_records where not swept),
cleared as (
  update audit_entries set entry = agent_admin_without_content(entry)
  from due where record_ids @> array[due.id] and audit_entries.id <> all (due.own_entries)
)
update erased_records set swept = true from due where erased_records.id = due.id returning erased_records.id`;

const CLEAR = `
update audit_entries set entry = agent_admin_without_content(entry)
from erased_records due
where not due.swept and record_ids @> array[due.id] and audit_entries.id <> all (due.own_entries)`;

/** Removes what is left of removed records elsewhere: the arguments of calls about them, and words that no other record has. */
export class Erasures {
  readonly #database: Database;
  readonly #signed = new Set<string>();
  /** Signs that the content about these records is withdrawn. */
  readonly #sign: (ids: readonly string[]) => Promise<void>;
  /** After each commit, and at each start. */
  readonly sweeping: DelayedTask;

  constructor(database: Database, sign: (ids: readonly string[]) => Promise<void>) {
    this.#database = database;
    this.#sign = sign;
    this.sweeping = new DelayedTask(() => this.#sweep(), { delayMs: SWEEP_AFTER_MS });
  }

  async erase(session: Session, ids: readonly string[], ownEntries: readonly string[]): Promise<void> {
    if (ids.length > 0) await session.query({ text: ERASE, values: [[...new Set(ids)], [...ownEntries]] });
  }

  async sign(ids: readonly string[]): Promise<void> {
    const unsigned = ids.filter((id) => !this.#signed.has(id));
    if (unsigned.length === 0) return;
    await this.#sign(unsigned);
    for (const id of unsigned) this.#signed.add(id);
  }

  async clear(): Promise<void> {
    await this.#database.query({ text: CLEAR });
  }

  async #sweep(): Promise<void> {
    const due = await this.#database.query<{ id: string }>({ text: 'select id from erased_records where not swept' });
    await this.sign(due.map(({ id }) => id));
    const swept = await this.#database.query({ text: SWEEP });
    if (swept.length > 0) await tidyVocabulary(this.#database);
  }
}
