import type { Agent } from '../../resources/agent.ts';
import type { Flow } from '../../resources/flow.ts';
import type { Readers } from '../../store/port.ts';
import { actingFor } from '../core/access/agent-principal.ts';
import { matchEntry } from '../core/access/allowlist.ts';
import { credentialStatus } from '../core/access/credential-status.ts';
import { chainOf, type Principal, personPrincipal } from '../core/access/principal.ts';
import type { ServerFacts } from '../core/registry/context.ts';
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

interface Parts {
  readonly store: Readers;
  readonly server: Pick<ServerFacts, 'catalog' | 'now'>;
}

type Stored = {
  readonly id: string;
  readonly name?: string | undefined;
  readonly email?: string;
  readonly createdAt: string;
};

/** An agent runs for whoever calls it; with this caller, its tools alone decide. */
const ANYBODY: Principal = personPrincipal({ id: '', email: 'callers with full access' });

/** All that can call tools now. What is disabled, revoked or expired is left out. */
export async function holdersOf(parts: Parts): Promise<Holder[]> {
  const { store } = parts;
  const found: (Holder | undefined)[] = [];
  const all = [
    ...(await allOf(store.adminUsers, {})).map((record) => ['person', record] as const),
    ...(await allOf(store.apiKeys, {})).map((record) => ['key', record] as const),
    ...(await allOf(store.capsules, { where: { status: 'live' } })).map((record) => ['capsule', record] as const),
    ...(await allOf(store.connectedApps, {})).map((record) => ['app', record] as const),
  ];
  for (const [type, record] of all) found.push(await credentialHolder(type, record, parts));
  for (const agent of await allOf(store.agents, { where: { status: 'active' } })) found.push(agentHolder(agent, parts));
  for (const flow of await allOf(store.flows, { where: { enabled: true } })) found.push(await flowHolder(flow, parts));
  return found.flatMap((holder) => holder ?? []);
}

/** The one of this id. Undefined if there is none, or it can call nothing now. */
export async function holderOf(type: HolderType, id: string, parts: Parts): Promise<Holder | undefined> {
  const { store } = parts;
  if (type === 'agent') {
    const agent = await store.agents.get(id);
    return agent?.status === 'active' ? agentHolder(agent, parts) : undefined;
  }
  if (type === 'flow') {
    const flow = await store.flows.get(id);
    return flow?.enabled ? flowHolder(flow, parts) : undefined;
  }
  const record = await store[COLLECTIONS[type]].get(id);
  return record && credentialHolder(type, record, parts);
}

const COLLECTIONS = { person: 'adminUsers', key: 'apiKeys', capsule: 'capsules', app: 'connectedApps' } as const;
const PRINCIPALS = { person: 'session', key: 'api-key', capsule: 'capsule', app: 'app' } as const;

async function credentialHolder(
  type: keyof typeof COLLECTIONS,
  { id, name, email, createdAt }: Stored,
  { store, server: { catalog, now } }: Parts,
): Promise<Holder | undefined> {
  const principal = await credentialStatus({ type: PRINCIPALS[type], id, name: name ?? email ?? id }, store, {
    catalog,
    now: now(),
  });
  if (typeof principal === 'string') return undefined;
  const capsule = [principal, ...chainOf(principal)].find((each) => each.type === 'capsule');
  const entries = capsule && (await store.capsules.get(capsule.id))?.allowedTools;
  return {
    type,
    id,
    name: principal.name,
    createdAt,
    principal,
    way: (tool) => (entries ? by(tool, entries, `${named(type, capsule)}tools`) : ''),
  };

  function by(tool: Tool, allowed: readonly string[], whose: string): string {
    const entry = allowed.find((each) => matchEntry(each, catalog).some((match) => match.tool === tool));
    return entry === undefined ? '' : `By the entry "${entry}" of its ${whose}.`;
  }
}

function named(type: HolderType, capsule: Principal | undefined): string {
  return type === 'app' ? `capsule ${capsule?.name}'s ` : '';
}

function agentHolder(agent: Agent, { server: { catalog } }: Parts): Holder {
  const { id, name, createdAt, tools = [] } = agent;
  return {
    type: 'agent',
    id,
    name,
    createdAt,
    principal: actingFor(ANYBODY, agent, catalog),
    way(tool) {
      const entry = tools.find((each) => matchEntry(each, catalog).some((match) => match.tool === tool));
      return entry === undefined ? undefined : `By the entry "${entry}" of its tools, for callers who may do this.`;
    },
  };
}

async function flowHolder(flow: Flow, parts: Parts): Promise<Holder | undefined> {
  const { catalog, now } = parts.server;
  const { id, name, createdAt, steps = [], runAs } = flow;
  const found = await findRunAs(runAs, parts.store, { catalog, now: now() });
  if (typeof found === 'string') return undefined;
  const principal = actingFlow(flow, found, { causes: [] });
  const agent = flow.agentId === undefined ? undefined : await parts.store.agents.get(flow.agentId);
  if (agent?.status === 'active') {
    const { way } = agentHolder(agent, parts);
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
