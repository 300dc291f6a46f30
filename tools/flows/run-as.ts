import type { Flow, FlowRunAs as RunAs } from '../../resources/flow.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import { findStanding } from '../access/standing.ts';
import { bothLimits, type ToolLimit } from '../access/tool-limit.ts';
import type { Catalog } from '../registry/catalog-index.ts';

/**
 * Whom runs act as when this caller defines the flow. A session ends within hours and its user goes on. Agents and flows
 * define none.
 */
export function runAsOf(caller: Principal): RunAs {
  const { type, id, name, ownerId, madeWith } = caller;
  if (type !== 'session') return { type, id, name };
  return { type, id: ownerId, name, ...(madeWith?.expiresAt !== undefined && { endsWith: madeWith.id }) };
}

/** The principal of the runs as it is now, or why nobody can act as it any more. */
export async function findRunAs(
  runAs: RunAs,
  store: Readers,
  parts: { readonly catalog: Catalog; readonly now: Date },
): Promise<Principal | string> {
  const found = await findStanding(runAs, store, parts);
  return typeof found === 'string' ? `The flow acts for somebody who is gone. ${found}` : found;
}

interface Within {
  readonly causes: readonly string[];
  /** Undefined: no run yet. */
  readonly runId?: string;
  readonly attempt?: string | undefined;
}

/** The flow as it acts for the principal. Tools whose answers hold a secret are out of its reach, for outputs are kept. */
export function actingFlow(
  { id, name }: Pick<Flow, 'id' | 'name'>,
  runAs: Principal,
  { causes, runId, attempt }: Within,
): Principal {
  const limit: ToolLimit = {
    holder: `the flow ${name}`,
    fingerprint: 'no secrets',
    allows: (tool) => !tool.answersSecret,
  };
  const tools = bothLimits(runAs.tools, limit);
  const acting = { ...runAs, type: 'flow', id, name, tools, actsFor: runAs, causes: [...causes, id] } as const;
  return runId === undefined ? acting : { ...acting, runId, ...(attempt !== undefined && { attempt }) };
}

/** Whether the caller is the one that runs of the flow act as. */
export function isRunAs(caller: Principal, { type, id }: RunAs): boolean {
  const own = runAsOf(caller);
  return own.type === type && own.id === id;
}
