import type { Flow, FlowRunAs as RunAs } from '../../resources/flow.ts';
import type { IntegrationHealth } from '../../resources/health.ts';
import type { Readers } from '../../store/port.ts';
import { budgetSubjectsIn } from '../core/access/budgets.ts';
import { credentialStatus } from '../core/access/credential-status.ts';
import { intersectToolLimits, type ToolLimit } from '../core/access/guarded-tool.ts';
import type { Principal } from '../core/access/principal.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { ServerContext } from '../core/registry/context.ts';
import { msSince } from '../core/registry/dependency-health.ts';
import { allOf } from '../core/registry/paging.ts';

/** The principal of the runs when this caller defines the flow. For a session it is the user, because sessions end within hours. */
export function runAsOf(caller: Principal): RunAs {
  const { type, id, name, ownerId, madeWith } = caller;
  if (type !== 'session') return { type, id, name };
  const endsWith = madeWith?.expiresAt === undefined ? {} : { endsWith: madeWith.id };
  return { type, id: ownerId, name, ...endsWith, ...(madeWith && { budgetSubjects: budgetSubjectsIn(caller) }) };
}

/** The principal of the runs as it is now, or why nothing may act as it any more. */
export async function findRunAs(
  runAs: RunAs,
  store: Readers,
  parts: { readonly catalog: Catalog; readonly now: Date },
): Promise<Principal | string> {
  const found = await credentialStatus(runAs, store, parts);
  if (typeof found === 'string') return `The flow acts for somebody who is gone. ${found}`;
  return runAs.budgetSubjects ? { ...found, budgetSubjects: runAs.budgetSubjects } : found;
}

interface Within {
  readonly causes: readonly string[];
  /** Undefined: no run has begun yet. */
  readonly runId?: string;
  readonly attempt?: string | undefined;
  readonly askedBy?: readonly string[] | undefined;
}

/** The principal of a flow's run. It has no tools whose answers hold a secret, because outputs are stored. */
export function actingFlow(
  { id, name }: Pick<Flow, 'id' | 'name'>,
  runAs: Principal,
  { causes, runId, attempt, askedBy }: Within,
): Principal {
  const limit: ToolLimit = {
    holder: `the flow ${name}`,
    fingerprint: 'no secrets',
    allows: (tool) => !tool.answersSecret && !tool.forPeople,
  };
  const tools = intersectToolLimits(runAs.tools, limit);
  const within = { causes: [...causes, id], ...(askedBy && { askedBy }) };
  const acting = { ...runAs, type: 'flow', id, name, tools, actsFor: runAs, ...within } as const;
  return runId === undefined ? acting : { ...acting, runId, ...(attempt !== undefined && { attempt }) };
}

export function isRunAs(caller: Principal, { type, id }: RunAs): boolean {
  const own = runAsOf(caller);
  return own.type === type && own.id === id;
}

const MOST_NAMED = 10;

/** Enabled flows whose principal is deactivated or gone. Only callers who may read flows see their names. */
export async function flowHealth(
  store: Readers,
  { rights }: Principal,
  { catalog, now }: Pick<ServerContext, 'catalog' | 'now'>,
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
