import type { Database } from '../database.ts';
import type { Session } from '../session.ts';

/** `pg_advisory_lock` of the one process that makes a partition. */
const PARTITION_LOCK = 7_307_002;
/** Others wait for it. */
const LONGEST_MAKE_MS = 30_000;
const LOCK_TIMEOUT = "set local lock_timeout = '5s'";

/** The partitions of the audit log, one per month (`2026-01`). The first process that needs one creates it. */
export class AuditPartitions {
  readonly #database: Database;
  readonly #known = new Set<string>();

  constructor(database: Database) {
    this.#database = database;
  }

  async ensure(times: readonly string[], now: Date): Promise<void> {
    const today = now.toISOString();
    const wanted = new Set([...times.map(monthOf), monthOf(today), monthAfter(monthOf(today))]);
    const missing = [...wanted].filter((month) => !this.#known.has(month));
    if (missing.length === 0) return;
    // A connection beside the pool: the caller may hold the pool's last one.
    const make = async (session: Session) => {
      for (const month of missing) await makePartition(session, month);
    };
    await this.#database.patiently(make, AbortSignal.timeout(LONGEST_MAKE_MS));
    for (const month of missing) this.#known.add(month);
  }

  forget(): void {
    this.#known.clear();
  }

  /** Removes the entries before this day (`2026-01-31`), whole partitions where possible. Returns how many. */
  async prune(day: string): Promise<number> {
    const month = monthOf(day);
    let removed = 0;
    for (const name of await this.#names()) {
      const own = name.slice(-7).replace('_', '-');
      if (own < month) removed += await this.#drop(name, own);
      else if (own === month) removed += await this.#deleteBefore(name, day);
    }
    return removed;
  }

  async #names(): Promise<string[]> {
    const text = `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'audit_entries'::regclass order by name`;
    return (await this.#database.query<{ name: string }>({ text })).map(({ name }) => name);
  }

  async #drop(name: string, month: string): Promise<number> {
    this.#known.delete(month);
    return this.#database.patiently(async (session) => {
      await session.query({ text: `begin; ${LOCK_TIMEOUT}; lock table audit_entries in access exclusive mode` });
      const count = await countIn(session, name);
      await session.query({ text: `drop table ${quoted(name)}; commit` });
      return count;
    });
  }

  async #deleteBefore(name: string, day: string): Promise<number> {
    const text = `with gone as (delete from ${quoted(name)} where at < $1 returning 1) select count(*)::integer as count from gone`;
    const [found] = await this.#database.query<{ count: number }>({ text, values: [day] });
    return found?.count ?? 0;
  }
}

async function makePartition(session: Session, month: string): Promise<void> {
  const name = `audit_entries_${month.replace('-', '_')}`;
  await session.query({ text: `begin; ${LOCK_TIMEOUT}; select pg_advisory_xact_lock(${PARTITION_LOCK})` });
  const [found] = await session.query<{ there: boolean }>({
    text: `select exists (select 1 from pg_inherits where inhparent = 'audit_entries'::regclass and inhrelid = to_regclass($1)) as there`,
    values: [quoted(name)],
  });
  if (!found?.there) {
    // Attaching a table lets others continue reading and writing, which making it as a partition does not.
    await session.query({
      text: `create table if not exists ${quoted(name)} (like audit_entries including defaults);
        alter table audit_entries attach partition ${quoted(name)} for values from ('${month}') to ('${monthAfter(month)}')`,
    });
  }
  await session.query({ text: 'commit' });
}

async function countIn(session: Session, name: string): Promise<number> {
  const text = `select count(*)::integer as count from ${quoted(name)}`;
  const [found] = await session.query<{ count: number }>({ text });
  return found?.count ?? 0;
}

function quoted(name: string): string {
  return `"${name}"`;
}

function monthOf(time: string): string {
  const month = time.slice(0, 7);
  if (!/^\d{4}-\d{2}$/.test(month)) throw new Error(`an audit entry has the time ${time}, which is not ISO 8601`);
  return month;
}

function monthAfter(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  const next = number === 12 ? [year + 1, 1] : [year, number + 1];
  return `${String(next[0]).padStart(4, '0')}-${String(next[1]).padStart(2, '0')}`;
}
