import { INVALID_REQUEST } from '@modelcontextprotocol/server';
import type { Store } from '../../store/port.ts';
import { missingScopes } from '../../tools/core/access/app-principal.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { heavyTurn, isUnread, TooDeep } from '../http/body.ts';
import type { RequestContext } from '../http/request-context.ts';
import { type AnswerFirst, type CallParams, callTool, requireOneKey } from './calls.ts';
import { CancellableRequests } from './cancellation.ts';
import { FastPath } from './fast-path.ts';
import { LogLevels } from './logging.ts';
import {
  answerableId,
  isObject,
  isRequestId,
  parseMessage,
  type RequestId,
  RpcError,
  requireLight,
  rpcErrorJson,
} from './message.ts';
import { ObservedMessages } from './observed-message.ts';
import { isModern } from './protocol-versions.ts';
import { ResponseWriter, sendJsonText } from './response-writer.ts';
import { SdkPath } from './sdk.ts';
import { requireNarrowing, ToolLists } from './tool-list.ts';
import type { ViewPages } from './views.ts';

export { PROTOCOL_VERSIONS } from './protocol-versions.ts';

/** The MCP endpoint: all revisions, without sessions, from one registry. */
export interface McpEndpoint {
  serve(context: RequestContext, body: Promise<Buffer>): Promise<void>;
  /** The list of tools has changed. Notifies the subscribers whose own list is different now. */
  toolsChanged(): void;
  /** Ends the open subscriptions. Calls under way may finish. */
  close(): Promise<void>;
}

export interface McpOptions {
  readonly registry: Registry;
  readonly store: Store;
  readonly pages: ViewPages;
  /** Called with the cause of every answer that says only that the server failed. */
  onError(cause: unknown, context?: Pick<RequestContext, 'requestId'>): void;
  /** False: the SDK answers everything, for comparison. */
  readonly direct?: boolean;
  /** Asked before the SDK answers. A conformance suite needs prompts and results that no record or tool of this server has. */
  readonly answerFirst?: AnswerFirst | undefined;
}

export function createMcpEndpoint({ direct = true, ...options }: McpOptions): McpEndpoint {
  const { registry } = options;
  const { cluster } = options.store;
  const writer = new ResponseWriter(registry.server);
  const lists = new ToolLists(registry, writer);
  const parts = {
    ...options,
    writer,
    cancellable: new CancellableRequests(cluster),
    levels: new LogLevels(cluster),
    lists,
  };
  const directPath = direct ? new FastPath(parts) : undefined;
  const sdkPath = new SdkPath(parts);
  const messages = new ObservedMessages(registry);

  return {
    async serve(context, body) {
      const begun = performance.now();
      let message: unknown;
      try {
        message = parseMessage(await body);
        context.message = message;
        requireLight(message);
        requireOneKey(context, message);
        requireNarrowing(context.url);
      } catch (thrown) {
        const error = thrown instanceof TooDeep ? new RpcError(INVALID_REQUEST, thrown.message) : thrown;
        if (!(error instanceof RpcError)) throw thrown;
        if (isUnread(context.request)) context.response.setHeader('Connection', 'close');
        return sendJsonText(context.response, 400, rpcErrorJson(answerableId(message), error));
      }
      const turn = heavyTurn(context);
      if (turn) await turn;
      const counting = callsTool(message) ? context.beforeCall() : undefined;
      if (counting) await counting;
      await messages.traced(context, message, () => {
        const refusing = context.principal.type === 'app' ? challengeIfNeeded(parts, context, message) : undefined;
        return refusing ?? directPath?.serve(context, message) ?? sdkPath.serve(context, message);
      });
      messages.answered(context, message, begun);
    },
    toolsChanged: () => sdkPath.toolsChanged(),
    close: () => sdkPath.close(),
  };
}

function callsTool(message: unknown): boolean {
  return isObject(message) && CALLING.has(message.method);
}

const CALLING: ReadonlySet<unknown> = new Set([
  'tools/call',
  'resources/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
]);

interface StepUpDeps {
  readonly registry: Registry;
  readonly writer: ResponseWriter;
}

/**
 * Answers a call that an app may not make although its person may: HTTP 403 names the scopes to ask for. It is known before the answer
 * begins, since a stream begins with 200.
 */
function challengeIfNeeded(parts: StepUpDeps, context: RequestContext, message: unknown): Promise<void> | undefined {
  const call = callIn(message);
  return call && needsMoreScopes(parts, context, call) ? refuse(parts, context, call) : undefined;
}

interface RequestedCall extends CallParams {
  readonly id: RequestId;
}

function callIn(message: unknown): RequestedCall | undefined {
  if (!isObject(message) || message.method !== 'tools/call' || !isObject(message.params)) return undefined;
  const { name, arguments: given = {} } = message.params;
  if (!isRequestId(message.id) || typeof name !== 'string' || !isObject(given)) return undefined;
  return { id: message.id, name, arguments: given };
}

function needsMoreScopes(
  { registry }: StepUpDeps,
  { principal }: RequestContext,
  { name, arguments: given }: CallParams,
): boolean {
  const tool = registry.find(name);
  if (!tool?.delegatesTo) return tool !== undefined && missingScopes(principal, tool, given) !== undefined;
  const { data } = tool.input.safeParse(given);
  const meant = data && tool.delegatesTo(data);
  const other = meant && registry.find(meant.tool);
  return other !== undefined && isObject(meant?.input) && missingScopes(principal, other, meant.input) !== undefined;
}

/** The call is made, so that it is refused and audited as any other. */
async function refuse({ registry, writer }: StepUpDeps, context: RequestContext, call: RequestedCall): Promise<void> {
  const era = isModern(context) ? 'modern' : 'legacy';
  const answer = await callTool(registry, context, call);
  const missingScopes = answer.ok ? undefined : answer.missingScopes;
  if (missingScopes) await context.challengeForScopes(missingScopes);
  sendJsonText(context.response, missingScopes ? 403 : 200, writer.toolResult(answer, call.id, era));
}
