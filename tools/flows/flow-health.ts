import type { Flow } from '../../resources/flow.ts';
import type { IntegrationHealth } from '../../resources/health.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import type { ServerFacts } from '../core/registry/context.ts';
import { msSince } from '../core/registry/dependency-health.ts';
import { allOf } from '../core/registry/paging.ts';
import { findRunAs } from './run-as.ts';

const MOST_NAMED = 10;

/** Enabled flows whose principal is deactivated or gone. Only callers who may read flows see their names. */
export async function flowHealth(
  store: Readers,
  { rights }: Principal,
  { catalog, now }: Pick<ServerFacts, 'catalog' | 'now'>,
): Promise<IntegrationHealth[]> {
  const started = performance.now();
  const parts = { catalog, now: now() };
  const known = new Map<string, boolean>();
  const isStopped = async ({ runAs }: Flow) => {
    const key = JSON.stringify(runAs);
    const stopped = known.get(key) ?? typeof (await findRunAs(runAs, store, parts)) === 'string';
    known.set(key, stopped);
    return stopped;
  };
  const stopped: Flow[] = [];
  for (const flow of await allOf(store.flows, { where: { enabled: true } })) {
    if (stopped.length < MOST_NAMED && (await isStopped(flow))) stopped.push(flow);
  }
  if (stopped.length === 0) return [];
  const named = rights.allows({ scope: 'flows:read', needs: [{ resource: 'flow', op: 'read' }] });
  const which = stopped.map(({ id, name, runAs }) => `${id} "${name}" of ${runAs.name}`);
  const lastError = `Runs of these enabled flows fail because the user or key they act for is deactivated or gone: ${named ? which.join(', ') : 'some'}.`;
  return [{ name: 'flows', kind: 'flows', status: 'degraded', latencyMs: msSince(started), lastError }];
}
