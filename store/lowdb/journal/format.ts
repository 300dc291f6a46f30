import { compiled } from '../../../resources/compiled.ts';
import { StoreDamaged } from '../../errors.ts';
import { deepFreeze, type Row } from '../../row.ts';
import { allCollections } from '../records/own-collections.ts';

type RawRecord = Record<string, unknown>;
type Migration = (collection: string, record: RawRecord) => RawRecord;

export interface Format {
  readonly number: number;
  readonly migrations: Readonly<Record<number, Migration>>;
}

/** Raise the number and add a migration when stored records no longer fit their schemas. */
export const currentFormat: Format = { number: 1, migrations: {} };

/**
 * A record of the current or an older format, checked by its schema. @throws Error that says what does not fit
 * @throws StoreDamaged: a newer version wrote it, and what this one does not know would be lost with the next write
 */
export function parseRecord(format: Format, from: number, collection: string, raw: RawRecord): Row {
  const definition = allCollections.get(collection);
  if (!definition) throw ofNewerVersion(`records of ${collection}, which this version does not know`);
  let record = raw;
  for (let step = from; step < format.number; step += 1) {
    const migration = format.migrations[step];
    if (!migration) throw new Error(`no migration leads from format ${step} to ${step + 1}`);
    record = migration(collection, record);
  }
  const parsed = compiled(definition.schema).safeParse(record);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    throw new Error(`the record ${String(record.id)} does not fit the schema of ${collection} (${problems})`);
  }
  const unknown = Object.keys(record).find((name) => !(name in (parsed.data as RawRecord)));
  if (unknown !== undefined) {
    throw ofNewerVersion(`${collection} with the member ${unknown}, which this version does not know`);
  }
  // Every collection's schema has `id` and `createdAt`.
  return deepFreeze(parsed.data as Row);
}

export function assertKnown(format: Format, number: number, path: string): void {
  if (number <= format.number) return;
  throw new StoreDamaged(
    `${path} has format ${number}, written by a newer version; this version knows formats up to ${format.number}. ${NEXT_STEP}`,
  );
}

const NEXT_STEP = 'Start the newer version, or restore a backup made with this one.';

function ofNewerVersion(what: string): StoreDamaged {
  return new StoreDamaged(`The data folder has ${what}: it was written by a newer version. ${NEXT_STEP}`);
}
