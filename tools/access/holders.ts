import type { Agent } from '../../resources/agent.ts';
import type { Flow } from '../../resources/flow.ts';
import { mapInSeries } from '../../store/map-in-series.ts';
import type { Readers } from '../../store/port.ts';
import { actingFor } from '../core/access/agent-principal.ts';
import { entryFor } from '../core/access/allowlist.ts';
import { credentialStatus } from '../core/access/credential-status.ts';
import { actorsOf, type Principal, personPrincipal } from '../core/access/principal.ts';
import type { ServerContext } from '../core/registry/context.ts';
import { allOf } from '../core/registry/paging.ts';
import type { Tool } from '../core/registry/tool.ts';
import { actingFlow, findRunAs } from '../flows/run-as.ts';

export const HOLDER_TYPES = ['person', 'key', 'capsule', 'app', 'agent', 'flow'] as const;
export type HolderType = (typeof HOLDER_TYPES)[number];

/** Somebody or something that can call tools. */
export interface Holder {
  readonly type: HolderType;
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly principal: Principal;
  /** How it comes to call the tool, besides its rights. Undefined if it does not; empty if there is nothing to say. */
  way(tool: Tool): string | undefined;
  /** What it always gives the tool, where that is fixed. */
  fixed?(tool: Tool): readonly Readonly<Record<string, unknown>>[];
}

interface Looking {
  readonly store: Readers;
  readonly server: Pick<ServerContext, 'catalog' | 'now'>;
}

type Stored = {
  readonly id: string;
  readonly name?: string | undefined;
  readonly email?: string;
  readonly createdAt: string;
};

/** An agent runs for whoever calls it; with this caller, its tools alone decide. */
export const ANYBODY: Principal = personPrincipal({ id: '', email: 'callers with full access' });

/** All of these types that can call tools now. What is disabled, revoked or expired is left out. */
export async function holdersOf(types: readonly HolderType[], looking: Looking): Promise<Holder[]> {
  const { store } = looking;
  const readers: Readonly<Record<HolderType, () => Promise<(Holder | undefined)[]>>> = {
    person: async () => credentials('person', await allOf(store.adminUsers, {})),
    key: async () => credentials('key', await allOf(store.apiKeys, {})),
    capsule: async () => credentials('capsule', await allOf(store.capsules, { where: { status: 'live' } })),
    app: async () => credentials('app', await allOf(store.connectedApps, {})),
    agent: async () => (await allOf(store.agents, ACTIVE)).map((agent) => agentHolder(agent, looking)),
    flow: async () => mapInSeries(await allOf(store.flows, ENABLED), (flow) => flowHolder(flow, looking)),
  };
  const credentials = (type: keyof typeof COLLECTIONS, records: readonly Stored[]) =>
    mapInSeries(records, (record) => credentialHolder(type, record, looking));
  const found = await mapInSeries(HOLDER_TYPES, async (type) => (types.includes(type) ? readers[type]() : []));
  return found.flat().flatMap((holder) => holder ?? []);
}

const ACTIVE = { where: { status: 'active' } } as const;
const ENABLED = { where: { enabled: true } } as const;

/** The one of this id. Undefined if there is none, or it can call nothing now. */
export async function holderOf(type: HolderType, id: string, looking: Looking): Promise<Holder | undefined> {
  const { store } = looking;
  if (type === 'agent') {
    const agent = await store.agents.get(id);
    return agent?.status === 'active' ? agentHolder(agent, looking) : undefined;
  }
  if (type === 'flow') {
    const flow = await store.flows.get(id);
    return flow?.enabled ? flowHolder(flow, looking) : undefined;
  }
  const record = await store[COLLECTIONS[type]].get(id);
  return record && credentialHolder(type, record, looking);
}

const COLLECTIONS = { person: 'adminUsers', key: 'apiKeys', capsule: 'capsules', app: 'connectedApps' } as const;
const PRINCIPALS = { person: 'session', key: 'api-key', capsule: 'capsule', app: 'app' } as const;

async function credentialHolder(
  type: keyof typeof COLLECTIONS,
  { id, name, email, createdAt }: Stored,
  { store, server: { catalog, now } }: Looking,
): Promise<Holder | undefined> {
  const principal = await credentialStatus({ type: PRINCIPALS[type], id, name: name ?? email ?? id }, store, {
    catalog,
    now: now(),
  });
  if (typeof principal === 'string') return undefined;
  const capsule = actorsOf(principal).find((each) => each.type === 'capsule');
  const entries = capsule && (await store.capsules.get(capsule.id))?.allowedTools;
  return {
    type,
    id,
    name: principal.name,
    createdAt,
    principal,
    way(tool) {
      const entry = entries && entryFor(tool, entries);
      const whose = type === 'app' ? `capsule ${capsule?.name}'s tools` : 'tools';
      return entry === undefined ? '' : `By the entry "${entry}" of its ${whose}.`;
    },
  };
}

function agentHolder(agent: Agent, { server: { catalog } }: Looking): Holder {
  const { id, name, createdAt, tools = [] } = agent;
  return {
    type: 'agent',
    id,
    name,
    createdAt,
    principal: actingFor(ANYBODY, agent, catalog),
    way(tool) {
      const entry = entryFor(tool, tools);
      return entry === undefined ? undefined : `By the entry "${entry}" of its tools, for callers who may do this.`;
    },
  };
}

async function flowHolder(flow: Flow, looking: Looking): Promise<Holder | undefined> {
  const { catalog, now } = looking.server;
  const { id, name, createdAt, steps = [], runAs } = flow;
  const found = await findRunAs(runAs, looking.store, { catalog, now: now() });
  if (typeof found === 'string') return undefined;
  const principal = actingFlow(flow, found, { causes: [] });
  const agent = flow.agentId === undefined ? undefined : await looking.store.agents.get(flow.agentId);
  if (agent?.status === 'active') {
    const { way } = agentHolder(agent, looking);
    return {
      type: 'flow',
      id,
      name,
      createdAt,
      principal: actingFor(principal, agent, catalog),
      way: (tool) =>
        way(tool) === undefined ? undefined : `Its agent ${agent.name} does, with the rights of ${runAs.name}.`,
    };
  }
  const calling = (tool: Tool) => steps.filter((step) => step.tool === tool.name);
  return {
    type: 'flow',
    id,
    name,
    createdAt,
    principal,
    way(tool) {
      const [step] = calling(tool);
      return step && `By its step "${step.id}", with the rights of ${runAs.name}.`;
    },
    fixed: (tool) => calling(tool).map((step) => step.arguments),
  };
}
