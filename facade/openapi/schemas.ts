import { z } from 'zod';
import { adminUser } from '../../resources/admin-user.ts';
import { agent } from '../../resources/agent.ts';
import { agentIdentity, agentIdentityInput } from '../../resources/agent-identity.ts';
import { botConfig } from '../../resources/bot-config.ts';
import { capsule } from '../../resources/capsule.ts';
import { errorBody } from '../../resources/error.ts';
import { flow } from '../../resources/flow.ts';
import { flowRun } from '../../resources/flow-run.ts';
import { health, systemHealth } from '../../resources/health.ts';
import { memory } from '../../resources/memory.ts';
import { message } from '../../resources/message.ts';
import { model } from '../../resources/model.ts';
import { productUser } from '../../resources/product-user.ts';
import { renderedReport, report } from '../../resources/report.ts';
import { searchHit } from '../../resources/search.ts';
import { settings } from '../../resources/settings.ts';
import { skill } from '../../resources/skill.ts';
import { thread, threadAccess, threadStats } from '../../resources/thread.ts';
import { version, versionDiff } from '../../resources/version.ts';
import { agentAnswer } from '../../tools/agents/agent-answer.ts';
import { getOverview } from '../../tools/analytics/overview.ts';
import { capsuleAnswer, capsuleWithToken } from '../../tools/capsules/capsules.ts';
import { sendChatMessage } from '../../tools/chat/send-chat-message.ts';
import { type JsonSchema, makePlain } from '../../tools/core/registry/json-schema.ts';
import { foundMemory } from '../../tools/memory/memory.ts';
import { updateBotConfig } from '../../tools/settings/bot-config.ts';
import { SERVED_METHODS } from '../mcp/protocol-versions.ts';

/** A message to the MCP endpoint. Notifications have no id. */
export const jsonRpcRequest = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).optional().describe('Omit for notifications.'),
  method: z.enum(SERVED_METHODS),
  params: z.record(z.string(), z.unknown()).optional(),
});

/** The answer to a message with an id: `result`, or `error` where the message itself is wrong. */
export const jsonRpcResponse = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int(), z.null()]).optional(),
  result: z.record(z.string(), z.unknown()).optional().describe('A failed tool call is a result with `isError`.'),
  error: z
    .object({ code: z.int(), message: z.string(), data: z.unknown().optional() })
    .optional()
    .describe('JSON-RPC 2.0 error.'),
});

export type Part = Readonly<Record<string, unknown>>;

/** Schemas that the document defines once and refers to wherever they appear, in inputs and in outputs. */
export const namedSchemas: Readonly<Record<'input' | 'output', Readonly<Record<string, z.ZodType>>>> = {
  input: {
    AgentIdentityInput: agentIdentityInput,
    BotConfigUpdate: updateBotConfig.input,
    JsonRpcRequest: jsonRpcRequest,
  },
  output: {
    Agent: agent,
    AgentWithWarnings: agentAnswer,
    AgentIdentity: agentIdentity,
    Skill: skill,
    Flow: flow,
    FlowRun: flowRun,
    Thread: thread,
    ThreadAccess: threadAccess,
    ThreadStats: threadStats,
    Message: message,
    ChatAnswer: sendChatMessage.output,
    Memory: memory,
    FoundMemory: foundMemory,
    SearchHit: searchHit,
    Model: model,
    AdminUser: adminUser,
    Report: report,
    RenderedReport: renderedReport,
    UserWithBilling: productUser,
    OverviewMetrics: getOverview.output,
    BotConfig: botConfig,
    Settings: settings,
    Capsule: capsule,
    CapsuleWithWarnings: capsuleAnswer,
    CapsuleWithToken: capsuleWithToken,
    Version: version,
    VersionDiff: versionDiff,
    Health: health,
    SystemHealth: systemHealth,
    Error: errorBody,
    JsonRpcResponse: jsonRpcResponse,
  },
};

/** A copy of a schema with another description has the same definition. By that, the copy is recognised as the same schema. */
const nameOf = {
  input: byDefinition(namedSchemas.input),
  output: byDefinition(namedSchemas.output),
};

export type SchemaComponents = ReturnType<typeof createSchemaComponents>;

export function createSchemaComponents() {
  const made = new Map<string, JsonSchema>();

  function refer(name: string, io: 'input' | 'output'): JsonSchema {
    const schema = namedSchemas[io][name];
    if (schema && !made.has(name)) {
      made.set(name, {});
      made.set(name, inline(schema, io));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  function inline(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, {
      io,
      override({ zodSchema, jsonSchema }) {
        const name = zodSchema._zod.def === schema._zod.def ? undefined : nameOf[io].get(zodSchema._zod.def);
        if (name === undefined) makePlain(jsonSchema);
        else replace(jsonSchema, refer(name, io));
      },
    });
    return rest;
  }

  return {
    /** Writes the outermost schema in full, even where it is a named one. */
    inline,
    /** A named schema becomes a reference. */
    schema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
      const name = nameOf[io].get(schema._zod.def);
      return name === undefined ? inline(schema, io) : refer(name, io);
    },
    collect: (): Record<string, JsonSchema> => Object.fromEntries([...made].sort(([a], [b]) => a.localeCompare(b))),
  };
}

function byDefinition(named: Readonly<Record<string, z.ZodType>>): ReadonlyMap<unknown, string> {
  return new Map(Object.entries(named).map(([name, schema]) => [schema._zod.def, name]));
}

function replace(node: z.core.JSONSchema.BaseSchema, reference: JsonSchema): void {
  const { description } = node;
  for (const member of Object.keys(node)) delete node[member];
  Object.assign(node, reference, description !== undefined && { description });
}
