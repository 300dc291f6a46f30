import type { EntityType, VersionRecord } from '../../resources/version.ts';
import { mapInSeries } from '../../store/map-in-series.ts';
import type { Position, Readers } from '../../store/port.ts';
import type { Context } from '../core/registry/context.ts';

/** Records that one call undoes at most, and versions that it looks at. */
const MOST_RECORDS = 500;
const MOST_VERSIONS = 10_000;
const PAGE = 100;

/** What one actor changed of a record. */
export interface RecordChanges {
  readonly entityType: EntityType;
  readonly entityId: string;
  readonly revisions: ReadonlySet<number>;
  /** Of the record, whoever made it. */
  readonly latest: VersionRecord;
}

interface Wanted {
  /** The id of a principal, or of a run. */
  readonly actor: string;
  readonly since: string;
  readonly until?: string | undefined;
  readonly types?: readonly EntityType[] | undefined;
}

/** The record that they changed last comes first. @throws ToolError (too_large) */
export async function changesBy(
  { store, fail }: Pick<Context<Readers, 'too_large'>, 'store' | 'fail'>,
  { actor, since, until, types }: Wanted,
): Promise<RecordChanges[]> {
  const found = new Map<string, Omit<RecordChanges, 'latest' | 'revisions'> & { readonly revisions: Set<number> }>();
  const query = { where: { by: actor, entityType: types }, from: since, to: until, limit: PAGE };
  let seen = 0;
  for (let after: Position | undefined; ; ) {
    const { records, next } = await store.versions.find({ ...query, after });
    for (const { entityType, entityId, revision } of records) {
      const key = `${entityType} ${entityId}`;
      const changes = found.get(key) ?? { entityType, entityId, revisions: new Set() };
      found.set(key, changes);
      changes.revisions.add(revision);
    }
    seen += records.length;
    if (found.size > MOST_RECORDS || seen > MOST_VERSIONS)
      throw fail(
        'too_large',
        `These are more than ${MOST_VERSIONS} changes, or of more than ${MOST_RECORDS} records; name types or a shorter time.`,
      );
    if (!next) break;
    after = next;
  }
  const all = await mapInSeries([...found.values()], async (changes) => {
    const { entityType, entityId } = changes;
    const latest = await store.versions.first({ where: { entityType, entityId } });
    return latest ? [{ ...changes, latest }] : [];
  });
  return all.flat();
}
