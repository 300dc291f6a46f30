import type { IncomingMessage, ServerResponse } from 'node:http';
import { ToolError } from '../tools/core/errors.ts';
import { html } from './http/html.ts';
import { READY_PATH, sendReadiness } from './http/readiness.ts';
import { contextOf, type RequestContext } from './http/request-context.ts';
import { sendError } from './http/respond.ts';
import { acceptedTypes, isBelowApi, namesEvents } from './http/target.ts';
import { RpcError, rpcErrorJson } from './mcp/message.ts';
import { sendJsonText } from './mcp/response-writer.ts';
import { openToPages, problemOf, sendProblem } from './oauth/answers.ts';
import { sendPage } from './sign-in/layout.ts';

const SOON_SECONDS = 1;
const MESSAGE = 'The server is starting; ask again soon.';
const STARTING = new ToolError('unavailable', MESSAGE, { retryAfterSeconds: SOON_SECONDS });
/** The first code that JSON-RPC leaves to servers. */
const RPC_ERROR = rpcErrorJson(null, new RpcError(-32000, MESSAGE));

const MCP_PATH = /^\/api\/(v1|capsules\/[^/]+)\/mcp$/;
const OAUTH_PATH = /^\/(oauth|\.well-known\/(oauth-[^/]+|openid-configuration))(\/|$)/;

/** Answers before the server can judge who calls, in the form that the client reads, and says nothing about credentials and paths. */
export function answerBeforeStart(request: IncomingMessage, response: ServerResponse): void {
  const context = contextOf(response);
  const { target } = context;
  const { accept } = request.headers;
  const isMcp = MCP_PATH.test(target.path);
  const opensPage = acceptedTypes(accept).includes('text/html') && (isMcp || !isBelowApi(target));
  response.setHeader('Retry-After', SOON_SECONDS);
  if (target.path === READY_PATH) sendReadiness(response, false);
  else if (opensPage) sendStartingPage(context);
  // GET at an MCP address reads its status, unless it asks for a stream.
  else if (isMcp && (request.method !== 'GET' || namesEvents(accept))) sendJsonText(response, 503, RPC_ERROR);
  else if (!OAUTH_PATH.test(target.path)) sendError(response, STARTING);
  else if (openToPages(request, response)) sendProblem(response, problemOf(STARTING));
}

/** Browsers read no `Retry-After`, so what they can ask for again without a form is reloaded by itself. */
function sendStartingPage({ request: { method = '' }, response, requestId }: RequestContext): void {
  if (/^(GET|HEAD)$/.test(method)) response.setHeader('Refresh', SOON_SECONDS);
  const body = html`<h1>The server is starting</h1>
<p role="status">It takes a few seconds. Then load this page again.</p>
<p class="hint">Request ${requestId}</p>`;
  sendPage(response, 503, { title: 'The server is starting', body });
}
