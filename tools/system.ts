import { z } from 'zod';
import { noNextPage } from '../resources/fields.ts';
import { health, type IntegrationHealth, setupFinding, systemHealth } from '../resources/health.ts';
import { capsuleHealth } from './capsules/capsule-health.ts';
import { ANYONE } from './core/access/guarded-tool.ts';
import type { StorageState } from './core/access/storage.ts';
import type { ServerContext } from './core/registry/context.ts';
import { defineTool, READS } from './core/registry/define-tool.ts';
import { prometheusText } from './core/telemetry/prometheus.ts';
import { flowHealth } from './flows/run-as.ts';
import { budgetHealth, storageHealth } from './usage/budget-health.ts';

export const checkHealth = defineTool({
  name: 'check_health',
  title: 'Check health',
  description:
    'Check whether this server works: status (`down` while the store takes no writes), what is wrong, version, uptime, whether the store can be written, and how old the last backup is.',
  keywords: 'is it running, server status, uptime, version, ping, alive, is the server running, which version is this',
  access: { scope: 'agents:read', grant: 'system:read' },
  annotations: READS,
  input: z.strictObject({}),
  output: health,
  errors: [],
  tellsDown: ({ status }) => status === 'down',

  async handler(_, { server }) {
    const { writable, damage, nearlyFull: memory, lastError = 'The store takes no writes.' } = server.storeStatus();
    const { last, status } = server.backups?.state() ?? {};
    const wrong = await server.clocks?.health();
    const clocks = wrong?.flatMap(({ lastError }) => lastError ?? []) ?? [];
    const { nearlyFull = [] } = (await storageState(server)) ?? {};
    const full = nearlyFull.filter(({ id }) => id === 'workspace').map(({ text }) => text);
    const told = [damage, memory].filter((text) => text !== undefined);
    const problems = [...(writable ? [] : [lastError]), ...told, ...clocks, ...full];
    return {
      status: problems.length === 0 ? ('ok' as const) : writable ? ('degraded' as const) : ('down' as const),
      version: server.version,
      uptimeSeconds: secondsSince(server.startedAt, server),
      store: { kind: server.storeKind, writable },
      ...(problems.length > 0 && { problems }),
      ...(status && {
        backup: { status, at: last?.at ?? null, ageSeconds: last ? secondsSince(last.at, server) : null },
      }),
    };
  },
});

function secondsSince(time: Date | string, { now }: Pick<ServerContext, 'now'>): number {
  return Math.max(0, Math.floor((now().getTime() - new Date(time).getTime()) / 1000));
}

export const getSystemHealth = defineTool({
  name: 'get_system_health',
  title: 'Get system health',
  description: 'Report the state, latency and last error of everything the server depends on, such as the store.',
  keywords:
    'dependencies, is the database up, outage, status of services, is everything up and running, is something broken, status page',
  access: { scope: 'agents:read', grant: 'system:read' },
  annotations: READS,
  input: z.strictObject({}),
  output: systemHealth,
  errors: [],

  async handler(_, { store, server, principal }) {
    const started = performance.now();
    await store.agents.first({});
    const latencyMs = Math.round((performance.now() - started) * 1000) / 1000;
    const { writable, dropped, damage, nearlyFull, lastError = damage ?? nearlyFull } = server.storeStatus();
    const kept: IntegrationHealth = {
      name: 'store',
      kind: server.storeKind,
      status: !writable ? 'down' : (damage ?? nearlyFull) === undefined ? 'ok' : 'degraded',
      latencyMs,
      ...(lastError !== undefined && { lastError }),
      ...(dropped && { droppedLines: dropped.length }),
    };
    const others = await Promise.all((server.dependencies ?? []).map((dependency) => dependency.health()));
    const own = [
      await capsuleHealth(store, principal),
      await flowHealth(store, principal, server),
      await budgetHealth(store, principal, server.now()),
    ];
    const asked = performance.now();
    const storage = await storageState(server);
    const full = storage ? storageHealth(storage, principal, asked) : [];
    const integrations = [kept, ...others.flat(), ...own.flat(), ...full];
    return {
      overallStatus: overall(kept, integrations),
      ...(storage && { storage: shownStorage(storage) }),
      integrations,
    };
  },
});

export const checkSetup = defineTool({
  name: 'check_setup',
  title: 'Check setup',
  description:
    'Check what this server was set up with, as the doctor does: data folder or database, disk, secrets, backups, address, mail, sign-in provider, models. Each finding says what to do. Shows no secrets.',
  keywords:
    'what is missing, configuration problems, doctor, diagnose, installation, is everything set up, what is still missing in the setup, is mail configured, problems of the installation',
  access: { scope: 'admin', grant: 'system:read' },
  annotations: { ...READS, openWorldHint: true },
  input: z.strictObject({}),
  output: z.object({ findings: z.array(setupFinding) }),
  errors: [],

  async handler(_, { server }) {
    return { findings: [...((await server.checkSetup?.()) ?? [])] };
  },
});

/** Undefined if the store does not say; its own health tells why. */
async function storageState({ storage }: Pick<ServerContext, 'storage'>): Promise<StorageState | undefined> {
  return storage?.state().catch(() => undefined);
}

function shownStorage({ usedBytes, limitBytes, share, kinds }: StorageState) {
  return { usedBytes, limitBytes, share, kinds: [...kinds] };
}

export const getMetrics = defineTool({
  name: 'get_metrics',
  title: 'Get metrics',
  description:
    'Read what this process measures, as text for Prometheus: calls, errors, times, models, jobs, store, memory. No names or ids.',
  access: { scope: 'agents:read', grant: 'system:read' },
  annotations: READS,
  doorOnly: true,
  input: z.strictObject({}),
  output: z.object({ text: z.string() }),
  errors: [],

  async handler(_, { server }) {
    return { text: prometheusText(await server.telemetry.measures.meter.read()) };
  },
});

/** Without its store the server is down; whatever else fails, it works in part. */
function overall({ status }: IntegrationHealth, all: readonly IntegrationHealth[]): IntegrationHealth['status'] {
  if (status === 'down') return 'down';
  return all.every((each) => each.status === 'ok') ? 'ok' : 'degraded';
}

export const listToolCategories = defineTool({
  name: 'list_tool_categories',
  title: 'List tool categories',
  description: 'List the tools you may call, by category, each with title and description.',
  keywords: 'what can I do here, kinds of tools, overview of capabilities, toolsets',
  access: { scope: 'agents:read', grant: 'tool:read' },
  annotations: READS,
  input: z.strictObject({}),
  output: z.object({
    data: z.array(
      z.object({
        category: z.string(),
        tools: z.array(z.object({ name: z.string(), title: z.string(), description: z.string() })),
      }),
    ),
    nextCursor: noNextPage,
  }),
  errors: [],

  async handler(_, { tools }) {
    const groups = new Map<string, { name: string; title: string; description: string }[]>();
    for (const { group, tool } of tools) {
      const { name, title, description } = tool;
      groups.set(group, [...(groups.get(group) ?? []), { name, title, description }]);
    }
    return { data: [...groups].map(([category, tools]) => ({ category, tools })), nextCursor: null };
  },
});

export const getMcpStatus = defineTool({
  name: 'get_mcp_status',
  title: 'Get MCP status',
  description: 'Show that the MCP endpoint is up, which protocol revisions it speaks and how many tools you may call.',
  access: ANYONE,
  annotations: READS,
  doorOnly: true,
  input: z.strictObject({
    tools: z.string().optional().describe('Narrows the list of the endpoint; no effect here.'),
    groups: z.string().optional().describe('Narrows the list of the endpoint; no effect here.'),
    mode: z.literal('search').optional().describe('Changes the list of the endpoint; no effect here.'),
  }),
  output: z.object({
    status: z.literal('ok'),
    name: z.string(),
    version: z.string(),
    protocolVersions: z.array(z.string()),
    tools: z.int().min(0),
  }),
  errors: [],

  async handler(_, { server, tools }) {
    const { name, version, protocolVersions } = server;
    return { status: 'ok' as const, name, version, protocolVersions: [...protocolVersions], tools: tools.length };
  },
});
