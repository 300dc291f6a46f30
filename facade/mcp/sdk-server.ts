import { type Notification, type Result, Server, type ServerContext } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { Progress } from '../../tools/core/registry/call.ts';
import { callTool, type DoorParts, readCallParams, rpcErrorFor, type UnderWay } from './calls.ts';
import { complete } from './completion.ts';
import { instructionsFor, introduces } from './instructions.ts';
import { levelIn, logMessage } from './logging.ts';
import { isObject } from './message.ts';
import { getPrompt, listPrompts } from './prompts.ts';
import { type Era, PROTOCOL_VERSIONS } from './protocol-versions.ts';
import { questionsIn, resultOrQuestions } from './questions.ts';
import { listResources, listTemplates, readResource } from './resources.ts';
import { showsViews, VIEWS_EXTENSION } from './views.ts';
import { acceptsEvents } from './web.ts';

/** One message that the SDK is answering. */
export interface SdkVisit extends UnderWay {
  readonly request: Request;
  /** The message without the input of a tool. */
  readonly message: unknown;
  readonly given: object | undefined;
}

type Method = (parts: DoorParts, visit: SdkVisit, params: Readonly<Record<string, unknown>>) => Promise<Result>;

/** The methods that this server answers. The SDK answers or refuses all others. */
const methods: ReadonlyMap<unknown, Method> = new Map<string, Method>([
  [
    'tools/list',
    async ({ lists }, { exchange, message }, { cursor }) => ({
      ...lists.page(exchange, cursor, showsViews(exchange, message)),
    }),
  ],
  [
    'tools/call',
    async ({ registry }, visit, params) => {
      const questions = questionsIn(visit);
      const call = { ...readCallParams(withGiven(params, visit)), questions };
      return resultOrQuestions(await callTool(registry, visit, call), questions);
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
  ['logging/setLevel', async ({ levels }, { exchange }, { level }) => levels.set(exchange, level)],
]);

function withGiven(params: Readonly<Record<string, unknown>>, { given }: SdkVisit): Readonly<Record<string, unknown>> {
  return given ? { ...params, arguments: given } : params;
}

/** Making one is expensive. It is never used, because the registry checks inputs and outputs. */
const validator = new AjvJsonSchemaValidator();

/** The SDK's server for one message. */
export function createSdkServer(parts: DoorParts, visit: SdkVisit, era: Era): Server {
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
      ...(introduces(visit.message) && { instructions: instructionsFor(visit.exchange, parts.registry) }),
      jsonSchemaValidator: validator,
    },
  );
  server.removeRequestHandler('logging/setLevel'); // the SDK's own handler would forget the level after the message
  // Set for our methods only: the SDK refuses other methods before it begins to answer, with the status of the revision. It is the fallback
  // handler, because for other handlers the SDK checks the message first and refuses it in the words of its schema library.
  const known = era === 'legacy' ? legacyMethods : methods;
  const method = isObject(visit.message) && known.get(visit.message.method);
  if (method) {
    server.fallbackRequestHandler = async ({ params }, context) => {
      visit.flight.onProgress = reporter(parts, visit, era, context);
      try {
        return parts.answerFirst?.(visit.message) ?? (await method(parts, visit, params ?? {}));
      } catch (thrown) {
        throw rpcErrorFor(visit.exchange, thrown, parts);
      }
    };
  }
  return server;
}

/** Undefined where the client wants neither progress nor log messages, or accepts no stream. */
function reporter({ levels }: DoorParts, { exchange, message }: SdkVisit, era: Era, { mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken;
  const level = era === 'legacy' ? levels.of(exchange) : levelIn(message);
  if ((progressToken === undefined && level === undefined) || !acceptsEvents(exchange)) return undefined;
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
