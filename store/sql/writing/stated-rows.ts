import {
  countsFrom,
  type ImportedRow,
  recordOf,
  type StatedType,
  statedTables,
  type TableRow,
} from '../../rows/records.ts';
import type { SqlConnection } from '../../rows-port.ts';
import { itemsOf, listOf } from '../lists.ts';
import { rawTables } from '../raw-tables.ts';
import { type Counts, insertRows } from './batch.ts';

/** What the writing touched: the records, and their owners before and after. */
export interface TouchedRecords {
  readonly ids: readonly string[];
  readonly owners: ReadonlySet<string>;
}

interface DatedRow {
  readonly row: ImportedRow;
  readonly importedMs: number;
}

/** Adds statements to those about their records. `isFirst`: there are none of the type yet. */
export async function writeStated(
  connection: SqlConnection,
  type: StatedType,
  rows: readonly DatedRow[],
  isFirst = false,
): Promise<Counts & { readonly touched: TouchedRecords }> {
  const { counts, changed, owners } = await compareStated(connection, type, rows, isFirst);
  await replace(connection, type, changed);
  return { ...counts, touched: { ids: [...changed.keys()], owners } };
}

/** Says what adding the statements would change: all statements about the records that change, and the owners before and after. */
export async function compareStated(
  connection: SqlConnection,
  type: StatedType,
  rows: readonly DatedRow[],
  isFirst = false,
) {
  const ids = isFirst ? [] : [...new Set(rows.map(({ row }) => String(row.id)))];
  const known = await statementsOf(connection, type, ids);
  const owners = new Set<string>();
  for (const { owner } of known.values()) if (owner !== undefined) owners.add(owner);
  const counts = { created: 0, updated: 0, unchanged: 0 };
  const last = new Map<string, string>();
  for (const { row, importedMs } of rows) {
    const id = String(row.id);
    const said = JSON.stringify(row);
    const before = last.get(id);
    const statements = known.get(id) ?? new Statements();
    const time = row.effectiveAt === undefined ? undefined : Date.parse(String(row.effectiveAt));
    const terms = recordOf(type, row);
    const isKnown = before === undefined ? statements.holds(terms, time) : before === said;
    counts[isKnown ? 'unchanged' : known.has(id) ? 'updated' : 'created'] += 1;
    if (isKnown) continue;
    last.set(id, said);
    known.set(id, statements);
    const from = time ?? countsFrom(type, row, importedMs, statements.list.length === 0);
    statements.put({ terms, from_ms: from, explicit: time !== undefined, imported_ms: importedMs });
  }
  const changed = [...known].filter(([, { isChanged }]) => isChanged);
  for (const [, { owner }] of changed) if (owner !== undefined) owners.add(owner);
  return { counts: counts as Counts, changed: new Map(changed), owners };
}

async function statementsOf(connection: SqlConnection, type: StatedType, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, Statements>();
  const table = statedTables[type];
  const found = await connection.query<Omit<Statement, 'terms'> & TableRow>(
    {
      name: `statements of ${type}`,
      sql: `select * from ${table} where id in (select item from ${itemsOf('$1')} as items) order by id, place`,
    },
    [listOf(ids)],
  );
  const columns = Object.keys(recordOf(type, {}));
  const lists = new Map<string, Statement[]>();
  for (const row of found) {
    const { from_ms, explicit, said_last, imported_ms } = row;
    const terms = Object.fromEntries(columns.map((column) => [column, row[column]]));
    const list = lists.get(String(row.id)) ?? [];
    list.push({ from_ms, explicit, said_last, imported_ms, terms });
    lists.set(String(row.id), list);
  }
  return new Map(Array.from(lists, ([id, list]) => [id, new Statements(list)]));
}

async function replace(connection: SqlConnection, type: StatedType, changed: ReadonlyMap<string, Statements>) {
  const table = statedTables[type];
  const rows = [...changed.values()].flatMap(({ list }) =>
    list.map(({ terms, ...statement }, place): TableRow => ({ ...terms, ...statement, place })),
  );
  if (rows.length === 0) return;
  const ids = listOf(changed.keys());
  await connection.run(`delete from ${table} where id in (select item from ${itemsOf('$1')} as items)`, [ids]);
  await insertRows(connection, table, rawTables[table], rows);
}

interface Statement {
  readonly from_ms: number;
  readonly explicit: boolean;
  /** Of the statements that gave no time, the one that came last. */
  readonly said_last: boolean;
  readonly imported_ms: number;
  readonly terms: TableRow;
}

class Statements {
  /** Sorted by the time from which they count. Among equal times, an explicit time wins; otherwise the later import. */
  readonly list: Statement[];
  isChanged = false;

  constructor(list: readonly Statement[] = []) {
    this.list = [...list];
  }

  get owner(): string | undefined {
    const uid = this.list.at(-1)?.terms.uid;
    return uid === undefined || uid === null ? undefined : String(uid);
  }

  /** Whether an import repeats what is known. `time` is the time it gives. */
  holds(terms: TableRow, time: number | undefined): boolean {
    const text = textOf(terms);
    if (time !== undefined)
      return this.list.some((one) => one.explicit && one.from_ms === time && textOf(one.terms) === text);
    const last = this.list.find((one) => one.said_last) ?? this.list.at(-1);
    return last !== undefined && textOf(last.terms) === text;
  }

  put(statement: Omit<Statement, 'said_last'>): void {
    const { explicit, from_ms: from, terms } = statement;
    if (this.holds(terms, explicit ? from : undefined)) return;
    this.isChanged = true;
    if (!explicit) {
      for (const [at, one] of this.list.entries()) if (one.said_last) this.list[at] = { ...one, said_last: false };
    } else {
      const same = this.list.findIndex((one) => one.explicit && one.from_ms === from);
      if (same >= 0) this.list.splice(same, 1);
    }
    const added = { ...statement, said_last: !explicit };
    let at = this.list.length;
    while (isBefore(added, this.list[at - 1])) at -= 1;
    this.list.splice(at, 0, added);
  }
}

function isBefore(statement: Statement, other: Statement | undefined): boolean {
  if (!other || other.from_ms < statement.from_ms) return false;
  return other.from_ms > statement.from_ms || (other.explicit && !statement.explicit);
}

function textOf(terms: TableRow): string {
  return JSON.stringify(Object.values(terms).map((value) => value ?? null));
}
