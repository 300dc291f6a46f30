import type { Flow } from '../../resources/flow.ts';
import type { Readers } from '../../store/port.ts';
import { keyProblem, principalOf } from '../access/authenticate.ts';
import type { Principal } from '../access/principal.ts';
import { scopeRights } from '../access/rights.ts';
import { bothLimits, type ToolLimit } from '../access/tool-limit.ts';
import { capsulePrincipal, capsuleProblem } from '../capsules/principal.ts';
import type { Catalog } from '../catalog-index.ts';

type RunAs = Flow['runAs'];

/**
 * Whom runs act as when this caller defines the flow. A session ends within hours and its user goes on. Agents and flows
 * define none.
 */
export function runAsOf(caller: Principal): RunAs {
  const { type, id, name, ownerId } = caller;
  return { type, id: type === 'session' ? ownerId : id, name };
}

/** The principal as it is now, or why nobody can act as it any more. */
export async function findRunAs(
  { type, id, name }: RunAs,
  store: Readers,
  { catalog, now }: { readonly catalog: Catalog; readonly now: Date },
): Promise<Principal | string> {
  if (type === 'session') {
    const user = await store.adminUsers.get(id);
    if (!user?.isActive) return `The admin user ${name}, whom the flow acts for, is deactivated or gone.`;
    return { type, id, name, ownerId: id, scopes: USER_SCOPES, rights: USER_RIGHTS };
  }
  if (type === 'api-key') {
    const key = await store.apiKeys.get(id);
    const problem = key ? await keyProblem(store, key, now) : 'The key is gone.';
    return key && !problem ? principalOf(key) : `The flow acts for the API key ${name}. ${problem}`;
  }
  const capsule = type === 'capsule' ? await store.capsules.get(id) : undefined;
  if (!capsule) return `The ${type} ${name}, whom the flow acts for, is gone.`;
  return (await capsuleProblem(store, capsule, now)) ?? capsulePrincipal(capsule, catalog);
}

const USER_SCOPES = ['*'];
const USER_RIGHTS = scopeRights(USER_SCOPES);

interface Within {
  readonly causes: readonly string[];
  /** Undefined: no run yet. */
  readonly runId?: string;
}

/** The flow as it acts for the principal. Tools whose answers hold a secret are out of its reach, for outputs are kept. */
export function actingFlow(
  { id, name }: Pick<Flow, 'id' | 'name'>,
  runAs: Principal,
  { causes, runId }: Within,
): Principal {
  const limit: ToolLimit = {
    holder: `the flow ${name}`,
    fingerprint: 'no secrets',
    allows: (tool) => !tool.answersSecret,
  };
  const tools = bothLimits(runAs.tools, limit);
  const acting = { ...runAs, type: 'flow', id, name, tools, actsFor: runAs, causes: [...causes, id] } as const;
  return runId === undefined ? acting : { ...acting, runId };
}

/** Whether the caller is the one that runs of the flow act as. */
export function isRunAs(caller: Principal, { type, id }: RunAs): boolean {
  const own = runAsOf(caller);
  return own.type === type && own.id === id;
}
