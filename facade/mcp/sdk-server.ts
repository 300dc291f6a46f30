import { type Notification, type Result, Server, type ServerContext } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { Progress } from '../../tools/core/registry/call.ts';
import type { RequestContext } from '../http/request-context.ts';
import { callTool, type McpDeps, questionsIn, readCallParams, resultOrQuestions, rpcErrorFor } from './calls.ts';
import { complete } from './completion.ts';
import { instructionsFor, introduces } from './instructions.ts';
import { levelIn, logMessage } from './logging.ts';
import { argumentsIn, isObject } from './message.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import { type Era, PROTOCOL_VERSIONS } from './protocol-versions.ts';
import { listResources, listTemplates, readResource } from './resources.ts';
import { showsViews, VIEWS_EXTENSION } from './views.ts';
import { acceptsEvents } from './web.ts';

export interface SdkRequest {
  readonly context: RequestContext;
  readonly request: Request;
  /** The message without the input of a tool. */
  readonly message: unknown;
}

type Method = (parts: McpDeps, context: RequestContext, params: Readonly<Record<string, unknown>>) => Promise<Result>;

const methods: ReadonlyMap<unknown, Method> = new Map<string, Method>([
  ['tools/list', async ({ lists }, context, { cursor }) => ({ ...lists.page(context, cursor, showsViews(context)) })],
  [
    'tools/call',
    async ({ registry }, context, params) => {
      const questions = questionsIn(context);
      const call = { ...readCallParams(withGiven(params, context)), questions };
      return resultOrQuestions(await callTool(registry, context, call), questions);
    },
  ],
  ['resources/list', listResources],
  ['resources/templates/list', listTemplates],
  ['resources/read', readResource],
  ['prompts/list', listPrompts],
  ['prompts/get', getPrompt],
  ['completion/complete', complete],
]);

const legacyMethods: ReadonlyMap<unknown, Method> = new Map([
  ...methods,
  ['logging/setLevel', async ({ levels }, context, { level }) => levels.set(context, level)],
]);

/** The SDK's copy of the message has no input of a tool. */
function withGiven(params: Readonly<Record<string, unknown>>, { message }: RequestContext) {
  const given = argumentsIn(message);
  return given ? { ...params, arguments: given } : params;
}

/** Making one is expensive. It is never used, because the registry checks inputs and outputs. */
const validator = new AjvJsonSchemaValidator();

export function createSdkServer(parts: McpDeps, context: RequestContext, era: Era): Server {
  const { name, version } = parts.registry.server;
  const server = new Server(
    { name, version },
    {
      capabilities: {
        tools: { listChanged: era === 'modern' },
        resources: { listChanged: false, subscribe: era === 'modern' },
        prompts: { listChanged: false },
        completions: {},
        logging: {},
        extensions: { [VIEWS_EXTENSION]: {} },
      },
      supportedProtocolVersions: [...PROTOCOL_VERSIONS],
      ...(introduces(context.message) && { instructions: instructionsFor(context, parts.registry) }),
      jsonSchemaValidator: validator,
    },
  );
  server.removeRequestHandler('logging/setLevel'); // the SDK's own handler would forget the level after the message
  // Set for our methods only: the SDK refuses other methods before it begins to answer, with the status of the revision. It is the fallback
  // handler, because for other handlers the SDK checks the message first and refuses it in the words of its schema library.
  const known = era === 'legacy' ? legacyMethods : methods;
  const method = isObject(context.message) && known.get(context.message.method);
  if (method) {
    server.fallbackRequestHandler = async ({ params }, { mcpReq }) => {
      context.onProgress = reporter(parts, context, era, mcpReq);
      try {
        return parts.answerFirst?.(context.message) ?? (await method(parts, context, params ?? {}));
      } catch (thrown) {
        throw rpcErrorFor(context, thrown, parts);
      }
    };
  }
  return server;
}

/** Undefined if the client wants neither progress nor log messages, or accepts no stream. */
function reporter({ levels }: McpDeps, context: RequestContext, era: Era, mcpReq: ServerContext['mcpReq']) {
  const progressToken = mcpReq._meta?.progressToken;
  const level = era === 'legacy' ? levels.of(context) : levelIn(context.message);
  if ((progressToken === undefined && level === undefined) || !acceptsEvents(context)) return undefined;
  const tell = (notification: Notification) => {
    mcpReq.notify(notification).catch(() => {}); // The client went away; the signal ends the call.
  };
  return (told: Progress) => {
    const { event: _, ...progress } = told;
    if (progressToken !== undefined) {
      tell({ method: 'notifications/progress', params: { progressToken, ...progress } });
    }
    const line = level && logMessage(told, level);
    if (line) tell({ method: 'notifications/message', params: { logger: 'agent-admin', ...line } });
  };
}
