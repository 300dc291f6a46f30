import type { CapsuleRecord } from '../../resources/capsule.ts';
import type { IntegrationHealth } from '../../resources/health.ts';
import { pagesOf } from '../../store/pages.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { msSince } from '../core/registry/dependency-health.ts';

const MOST_NAMED = 10;

/** Live capsules that serve nobody because the person they act for is deactivated. Only callers who may read capsules see their names. */
export async function capsuleHealth(
  store: Pick<Readers, 'adminUsers' | 'capsules'>,
  { rights }: Principal,
): Promise<IntegrationHealth[]> {
  const started = performance.now();
  const stopped: CapsuleRecord[] = [];
  for await (const inactive of pagesOf(store.adminUsers, { where: { isActive: false }, limit: 100 })) {
    const ownerId = inactive.map(({ id }) => id);
    if (ownerId.length === 0) break;
    const { records } = await store.capsules.find({ where: { ownerId, status: 'live' }, limit: MOST_NAMED });
    stopped.push(...records);
    if (stopped.length >= MOST_NAMED) break;
  }
  if (stopped.length === 0) return [];
  const named = rights.allows({ scope: 'admin', needs: [{ resource: 'capsule', op: 'read' }] });
  const which = named ? stopped.map(({ id, name, ownerId }) => `${id} "${name}" of ${ownerId}`).join(', ') : 'some';
  const lastError = `These live capsules refuse everybody because the admin users they act for are deactivated: ${which}.`;
  return [{ name: 'capsules', kind: 'capsules', status: 'degraded', latencyMs: msSince(started), lastError }];
}
