import { type JSONRPCRequest, type Result, Server, type ServerContext } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { Progress } from '../tools/context.ts';
import type { Exchange } from './exchange.ts';
import { callTool, type DoorParts, readCallParams, type UnderWay } from './mcp-calls.ts';
import { isObject, toRpcError } from './mcp-message.ts';
import { type Era, PROTOCOL_VERSIONS } from './mcp-versions.ts';
import { acceptsEvents } from './mcp-web.ts';
import { toolResult } from './mcp-wire.ts';

/** One message on its way through the SDK. */
export interface Visit extends UnderWay {
  readonly request: Request;
  readonly message: unknown;
}

/** Costly to make, and never asked anything: the registry checks inputs and outputs. */
const validator = new AjvJsonSchemaValidator();

/** The SDK's server for one message. */
export function createSdkServer(parts: DoorParts, visit: Visit, era: Era): Server {
  const { name, version } = parts.registry.server;
  const server = new Server(
    { name, version },
    {
      capabilities: { tools: { listChanged: era === 'modern' } },
      supportedProtocolVersions: [...PROTOCOL_VERSIONS],
      jsonSchemaValidator: validator,
    },
  );
  // Set for our methods only: the SDK refuses the others before it begins to answer, with the status of the revision. As fallback, since
  // what it checks before other handlers it refuses in the words of its schema library.
  if (isObject(visit.message) && (visit.message.method === 'tools/list' || visit.message.method === 'tools/call')) {
    server.fallbackRequestHandler = (request, context) => {
      visit.flight.onProgress = progressReporter(visit.exchange, context);
      return answer(parts, visit, request);
    };
  }
  return server;
}

async function answer(parts: DoorParts, visit: Visit, { method, params }: JSONRPCRequest): Promise<Result> {
  const { registry, lists, onError } = parts;
  try {
    if (method === 'tools/list') return { ...lists.page(visit.exchange, params?.cursor) };
    return toolResult(await callTool(registry, visit, readCallParams(params)));
  } catch (thrown) {
    throw toRpcError(thrown, onError);
  }
}

/** Undefined where the client did not ask for progress, or takes no stream in which it could be told. */
function progressReporter(exchange: Exchange, { mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined || !acceptsEvents(exchange)) return undefined;
  return (progress: Progress) => {
    const told = mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } });
    told.catch(() => {}); // the client went away, which ends the call by its signal
  };
}
