import type { Principal } from '../../tools/core/access/principal.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { jsonBody, readBody } from '../http/body.ts';
import { requireKnownParameters } from '../http/endpoints.ts';
import type { Endpoint, RequestContext } from '../http/request-context.ts';
import { sendJson } from '../http/respond.ts';
import { namesEvents } from '../http/target.ts';
import type { McpEndpoint } from './mcp.ts';

export const MCP_PATH = '/api/v1/mcp';
export const CAPSULE_MCP_PATH = '/api/capsules/{id}/mcp';
/** Query parameters that narrow the list of tools, and one for clients that send an API key instead of signing in. */
const NARROWING = ['tools', 'groups', 'mode', 'hints', 'auth'];

/** The unified endpoint and those of the capsules. `status`: what answers GET at the unified one. */
export function mcpEndpoints(registry: Registry, mcp: McpEndpoint, status: Endpoint): Endpoint[] {
  const serve = (context: RequestContext) => {
    if (context.url.search !== '') requireKnownParameters(context.url, NARROWING);
    const takesBulk = () => registry.list(context.principal).some(({ tool }) => tool.bulk);
    return mcp.serve(context, readBody(context, jsonBody(takesBulk)));
  };
  const serveStatus: Endpoint['serve'] = (context) => {
    refuseStream(context);
    return status.serve(context);
  };
  const serveCapsuleStatus = async (context: RequestContext) => {
    refuseStream(context);
    requireKnownParameters(context.url, NARROWING);
    sendJson(context.response, 200, capsuleStatus(registry, context.principal));
  };
  return [
    { method: 'GET', path: MCP_PATH, mcp: 'unified', serve: serveStatus },
    { method: 'POST', path: MCP_PATH, mcp: 'unified', serve },
    { method: 'GET', path: CAPSULE_MCP_PATH, mcp: 'capsule', serve: serveCapsuleStatus },
    { method: 'POST', path: CAPSULE_MCP_PATH, mcp: 'capsule', serve },
  ];
}

/** Clients that open a stream by GET also accept JSON. They read a 405 as: no such stream. */
function refuseStream({ request, response }: RequestContext): void {
  if (!namesEvents(request.headers.accept)) return;
  response.setHeader('Allow', 'POST');
  throw new ToolError('method_not_allowed', 'This server opens no stream by GET; POST to this path.');
}

function capsuleStatus(registry: Registry, principal: Principal) {
  const { name, version, protocolVersions } = registry.server;
  return { status: 'ok', name, version, protocolVersions, tools: registry.list(principal).length };
}
