import type { IntegrationHealth } from '../../resources/health.ts';
import type { Principal } from '../core/access/principal.ts';
import type { StorageState } from '../core/access/storage.ts';
import { msSince } from '../core/registry/dependency-health.ts';

const MOST_NAMED = 10;

/** Limits of storage that are nearly reached. Only callers who may read keys see whose. */
export function storageHealth(
  { nearlyFull }: StorageState,
  { rights }: Principal,
  started: number,
): IntegrationHealth[] {
  if (nearlyFull.length === 0) return [];
  const named = rights.allows({ scope: 'admin', needs: [{ resource: 'key', op: 'read' }] });
  const shown = nearlyFull.filter(({ id }) => named || id === 'workspace').slice(0, MOST_NAMED);
  const more = nearlyFull.length - shown.length;
  const texts = [
    ...shown.map(({ text }) => text),
    ...(more > 0 ? [`The storage of ${more} callers is nearly full.`] : []),
  ];
  const lastError = texts.join(' ');
  return [{ name: 'storage', kind: 'storage', status: 'degraded', latencyMs: msSince(started), lastError }];
}
