import { isDeepStrictEqual } from 'node:util';
import { compiled } from '../resources/compiled.ts';
import type { CollectionDefinition, UniqueRule } from './collection-definition.ts';
import { collections } from './collections.ts';
import { NotFound, StaleRevision } from './errors.ts';
import { newId } from './ids.ts';
import type { Change, Guard, Query, Reader, RecordChange } from './port.ts';
import { frozenCopy, type Row } from './row.ts';

/** Members that only the store writes. A change ignores them. */
const BOOKKEEPING: readonly string[] = ['id', 'createdAt', 'updatedAt', 'revision'];

interface Named {
  readonly name: string;
  readonly definition: CollectionDefinition;
}

export function newRecord({ name, definition }: Named, record: Partial<Row>, now: string): Row {
  const given = Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
  const kept = definition.appendOnly ? {} : { updatedAt: now, revision: 1 };
  return parse({ name, definition }, { id: newId(definition.idPrefix), createdAt: now, ...kept, ...given });
}

export function updatedRecord(collection: Named, current: Row, change: Change<Row>, now: string): Row {
  const revision = typeof current.revision === 'number' ? current.revision + 1 : 1;
  return changed(collection, current, change, { updatedAt: latest(String(current.updatedAt), now), revision });
}

/** Clocks of processes differ, and the times of one record are in the order of its revisions. */
function latest(before: string, now: string): string {
  return Date.parse(before) > Date.parse(now) ? before : now;
}

export function touchedRecord(collection: Named, current: Row, change: Change<Row>): Row {
  return changed(collection, current, change, {});
}

export function expectedRecord({ name }: Named, id: string, row: Row | undefined, options?: Guard): Row {
  if (!row) throw new NotFound(name, id);
  const expected = options?.expectedRevision;
  const { revision } = row;
  if (expected !== undefined && typeof revision === 'number' && revision !== expected) {
    throw new StaleRevision(revision);
  }
  return row;
}

export function assertMutable({ name, definition }: Named): void {
  if (definition.appendOnly) throw new Error(`${name} is append-only`);
}

/** What a unique rule compares of the record, as a text. Undefined if the rule skips the record. */
export function uniqueKey({ fields, ignoreCase, except }: UniqueRule<Row>, row: Row): string | undefined {
  if (except && row[except.field] === except.value) return undefined;
  const values: unknown[] = [];
  for (const field of fields) {
    const value = row[field];
    if (value === undefined) return undefined;
    values.push(ignoreCase && typeof value === 'string' ? value.toLowerCase() : value);
  }
  return JSON.stringify(values);
}

/** What listeners hear about a record that was `before` and is `after`. Undefined for bookkeeping, and for collections beside the port. */
export function changeOf(
  collection: string,
  before: Row | undefined,
  after: Row | undefined,
): RecordChange | undefined {
  if (!(collection in collections)) return undefined;
  if (after ? before && after.revision === before.revision : !before) return undefined;
  const kind = !after ? 'deleted' : !before ? 'created' : 'updated';
  return { kind, collection, record: after ?? before } as RecordChange; // rows of a collection are checked by its schema
}

function changed(collection: Named, current: Row, change: Change<Row>, kept: object): Row {
  const merged: Record<string, unknown> = { ...current };
  const unchanged: Record<string, unknown> = { ...current };
  for (const [member, value] of Object.entries(change)) {
    if (value === undefined || BOOKKEEPING.includes(member)) continue;
    delete unchanged[member];
    if (value === null) delete merged[member];
    else merged[member] = value;
  }
  // A newer process may have written members that the schema does not know: what is not changed stays as it is.
  const next = { ...parse(collection, merged), ...unchanged };
  return isDeepStrictEqual(next, current) ? current : Object.freeze({ ...next, ...kept });
}

/** Refuses a record that does not fit its schema, because a later read could not trust it. */
function parse({ name, definition }: Named, record: Record<string, unknown>): Row {
  const parsed = compiled(definition.schema).safeParse(record);
  if (!parsed.success) throw new Error(`a record does not fit the schema of ${name}: ${parsed.error.message}`);
  // Every collection's schema has `id` and `createdAt`.
  return frozenCopy(parsed.data) as Row;
}

/** The first record that `find` would return. For readers that have nothing quicker. */
export async function firstOf<Record>(
  reader: Pick<Reader<Record>, 'find'>,
  query: Omit<Query<Record>, 'limit'>,
): Promise<Record | undefined> {
  return (await reader.find({ ...query, limit: 1 })).records[0];
}
