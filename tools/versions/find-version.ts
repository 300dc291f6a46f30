import type { EntityType, VersionRecord } from '../../resources/version.ts';
import type { Readers } from '../../store/port.ts';
import type { Payload } from '../core/kind.ts';
import type { Context } from '../core/registry/context.ts';

export type EntityReference = { readonly entityType: EntityType; readonly entityId: string };

export type Caller = Pick<Context<Readers, 'not_found'>, 'store' | 'principal' | 'fail'>;

export type VersionReference = EntityReference & { readonly versionId: string };

export async function versionIn(
  { versions }: Pick<Readers, 'versions'>,
  { entityType, entityId, versionId }: VersionReference,
): Promise<VersionRecord | undefined> {
  const found = await versions.get(versionId);
  return found?.entityType === entityType && found.entityId === entityId ? found : undefined;
}

export async function findVersion({ store, fail }: Caller, wanted: VersionReference): Promise<VersionRecord> {
  const found = await versionIn(store, wanted);
  if (found) return found;
  const { entityType, entityId, versionId } = wanted;
  throw fail(
    'not_found',
    `The ${entityType} ${entityId} has no version ${versionId}; list_versions shows those it has.`,
  );
}

export async function latestVersion(store: Readers, { entityType, entityId }: EntityReference): Promise<VersionRecord> {
  const latest = await store.versions.first({ where: { entityType, entityId } });
  if (!latest) throw new Error(`${entityType} ${entityId} lost its history.`);
  return latest;
}

export async function startOfDiff(caller: Caller, target: VersionRecord, against: string): Promise<Payload> {
  const { store, fail } = caller;
  if (against === 'current') return (await latestVersion(store, target)).payload;
  if (against === 'previous' && target.revision === 1) return {};
  const revision = against === 'previous' ? target.revision - 1 : Number(against);
  if (!/^[0-9]+$/.test(against) && against !== 'previous') {
    return (await findVersion(caller, { ...target, versionId: against })).payload;
  }
  const { entityType, entityId } = target;
  const found = await store.versions.first({ where: { entityType, entityId, revision } });
  if (!found) throw fail('not_found', `The ${entityType} ${entityId} has no revision ${against}; see list_versions.`);
  return found.payload;
}
