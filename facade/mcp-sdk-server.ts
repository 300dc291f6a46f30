import { type Result, Server, type ServerContext } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { Progress } from '../tools/context.ts';
import type { Exchange } from './exchange.ts';
import { callTool, type DoorParts, readCallParams, type UnderWay } from './mcp-calls.ts';
import { complete } from './mcp-completion.ts';
import { instructionsFor, introduces } from './mcp-instructions.ts';
import { isObject, toRpcError } from './mcp-message.ts';
import { getPrompt, listPrompts } from './mcp-prompts.ts';
import { listResources, listTemplates, readResource } from './mcp-resources.ts';
import { type Era, PROTOCOL_VERSIONS } from './mcp-versions.ts';
import { acceptsEvents } from './mcp-web.ts';
import { toolResult } from './mcp-wire.ts';

/** One message on its way through the SDK. */
export interface Visit extends UnderWay {
  readonly request: Request;
  /** Without what it gives a tool to work on. */
  readonly message: unknown;
  readonly given: object | undefined;
}

type Method = (parts: DoorParts, visit: Visit, params: Readonly<Record<string, unknown>>) => Promise<Result>;

/** The methods answered here; all others are the SDK's own, or unknown. */
const methods: ReadonlyMap<unknown, Method> = new Map<string, Method>([
  ['tools/list', async ({ lists }, { exchange }, { cursor }) => ({ ...lists.page(exchange, cursor) })],
  [
    'tools/call',
    async ({ registry }, visit, params) =>
      toolResult(await callTool(registry, visit, readCallParams(withGiven(params, visit)))),
  ],
  ['resources/list', listResources],
  ['resources/templates/list', listTemplates],
  ['resources/read', readResource],
  ['prompts/list', listPrompts],
  ['prompts/get', getPrompt],
  ['completion/complete', complete],
]);

function withGiven(params: Readonly<Record<string, unknown>>, { given }: Visit): Readonly<Record<string, unknown>> {
  return given ? { ...params, arguments: given } : params;
}

/** Costly to make, and never asked anything: the registry checks inputs and outputs. */
const validator = new AjvJsonSchemaValidator();

/** The SDK's server for one message. */
export function createSdkServer(parts: DoorParts, visit: Visit, era: Era): Server {
  const { name, version } = parts.registry.server;
  const server = new Server(
    { name, version },
    {
      capabilities: {
        tools: { listChanged: era === 'modern' },
        resources: { listChanged: false, subscribe: era === 'modern' },
        prompts: { listChanged: false },
        completions: {},
      },
      supportedProtocolVersions: [...PROTOCOL_VERSIONS],
      ...(introduces(visit.message) && { instructions: instructionsFor(visit.exchange, parts.registry) }),
      jsonSchemaValidator: validator,
    },
  );
  // Set for our methods only: the SDK refuses the others before it begins to answer, with the status of the revision. As fallback, since
  // what it checks before other handlers it refuses in the words of its schema library.
  const method = isObject(visit.message) && methods.get(visit.message.method);
  if (method) {
    server.fallbackRequestHandler = async ({ params }, context) => {
      visit.flight.onProgress = progressReporter(visit.exchange, context);
      try {
        return parts.answerFirst?.(visit.message) ?? (await method(parts, visit, params ?? {}));
      } catch (thrown) {
        throw toRpcError(thrown, parts.onError);
      }
    };
  }
  return server;
}

/** Undefined where the client did not ask for progress, or takes no stream in which it could be told. */
function progressReporter(exchange: Exchange, { mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined || !acceptsEvents(exchange)) return undefined;
  return ({ event: _, ...progress }: Progress) => {
    const told = mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } });
    told.catch(() => {}); // the client went away, which ends the call by its signal
  };
}
