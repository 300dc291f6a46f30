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
  #timer: NodeJS.Timeout | undefined;
  #error: Error | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  get error(): Error | undefined {
    return this.#error;
  }

  /** In the transaction that removes the records; its own entries stay as they are. */
  async erase(session: Session, ids: readonly string[], ownEntries: readonly string[]): Promise<void> {
    if (ids.length > 0) await session.query({ text: ERASE, values: [[...new Set(ids)], [...ownEntries]] });
  }

  /** Right after the commit: entries that were written while the transaction ran. */
  async clear(): Promise<void> {
    await this.#database.query({ text: CLEAR });
  }

  /** After the commit, and at each start. */
  sweepLater(): void {
    this.#timer ??= setTimeout(() => void this.sweep(), SWEEP_AFTER_MS).unref();
  }

  async sweep(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      const swept = await this.#database.query({ text: SWEEP });
      if (swept.length > 0) await tidyVocabulary(this.#database);
      this.#error = undefined;
    } catch (error) {
      this.#error = error instanceof Error ? error : new Error(String(error));
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
