import { CLIENT_CAPABILITIES_META_KEY, INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import type { Door } from '../../resources/audit-entry.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { Questions } from '../../tools/core/registry/call.ts';
import type { Answer, Call, Registry } from '../../tools/core/registry/registry.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { CancellableRequests } from './cancellation.ts';
import type { LogLevels } from './logging.ts';
import { isObject, RpcError, toRpcError } from './message.ts';
import { isModern } from './protocol-versions.ts';
import { toolResult } from './response-writer.ts';
import type { ToolLists } from './tool-list.ts';
import type { ViewPages } from './views.ts';

export interface McpDeps {
  readonly registry: Registry;
  readonly lists: ToolLists;
  readonly cancellable: CancellableRequests;
  readonly levels: LogLevels;
  readonly pages: ViewPages;
  onError(cause: unknown, context?: Pick<RequestContext, 'requestId'>): void;
  readonly answerFirst?: AnswerFirst | undefined;
}

export type AnswerFirst = (message: unknown) => Result | undefined;

export interface CallParams {
  readonly name: string;
  readonly arguments: object;
  readonly idempotencyKey?: string | undefined;
  readonly approvalId?: string | undefined;
  readonly questions?: Call['questions'];
}

/** @throws RpcError */
export function readCallParams(params: unknown): CallParams {
  const { name, arguments: given = {}, _meta } = isObject(params) ? params : {};
  if (typeof name !== 'string') throw new RpcError(INVALID_PARAMS, 'Invalid params: name is the name of a tool.');
  if (!isObject(given)) throw new RpcError(INVALID_PARAMS, 'Invalid params: arguments is an object or absent.');
  const key = isObject(_meta) ? _meta.idempotencyKey : undefined;
  if (key !== undefined && typeof key !== 'string') {
    throw new RpcError(INVALID_PARAMS, 'Invalid params: _meta.idempotencyKey is a string or absent.');
  }
  const approvalId =
    isObject(_meta) && typeof _meta.approvalId === 'string' ? _meta.approvalId.slice(0, 200) : undefined;
  return { name, arguments: given, idempotencyKey: key, approvalId };
}

/** @throws RpcError if the request names one key in its header and another in the message */
export function requireOneKey({ request }: Pick<RequestContext, 'request'>, message: unknown): void {
  const header = request.headers[KEY_HEADER];
  if (header === undefined || !isObject(message) || message.method !== 'tools/call' || !isObject(message.params))
    return;
  const { _meta } = message.params;
  const key = isObject(_meta) ? _meta.idempotencyKey : undefined;
  if (typeof key !== 'string' || key === header) return;
  throw new RpcError(
    INVALID_PARAMS,
    'Invalid params: the header Idempotency-Key and _meta.idempotencyKey differ; give one of them.',
  );
}

const KEY_HEADER = 'idempotency-key';

/** Calls the tool for the principal of the context. @throws RpcError for an unknown tool */
export async function callTool(registry: Registry, context: RequestContext, params: CallParams): Promise<Answer> {
  const isKnown = registry.find(params.name) !== undefined;
  const answer = await registry.call(new McpCall(context, params));
  if (!answer.ok) context.failure = 'tool_error';
  // The call of an unknown tool is still made, for its audit entry and its hint.
  if (!answer.ok && !isKnown) throw new RpcError(INVALID_PARAMS, answer.error.error);
  if (answer.replayed && !context.response.headersSent) context.response.setHeader('Idempotency-Replayed', 'true');
  return answer;
}

/** The error to answer for a thrown value. It is noted in the context, and its cause, where the server failed, in the log. */
export function rpcErrorFor(context: RequestContext, thrown: unknown, { onError }: Pick<McpDeps, 'onError'>): RpcError {
  const error = toRpcError(thrown, (cause) => onError(cause, context));
  context.failure = String(error.code);
  return error;
}

class McpCall implements Call {
  readonly principal: Principal;
  readonly tool: string;
  readonly input: object;
  readonly door: Door;
  readonly requestId: string;
  readonly idempotency: Call['idempotency'];
  readonly approvalId: string | undefined;
  readonly onProgress: Call['onProgress'];
  readonly questions: Call['questions'];
  readonly #context: RequestContext;

  constructor(context: RequestContext, params: CallParams) {
    const { name, idempotencyKey: key = context.request.headers[KEY_HEADER] } = params;
    this.principal = context.principal;
    this.tool = name;
    this.input = params.arguments;
    this.door = context.door;
    this.requestId = context.requestId;
    this.idempotency = typeof key === 'string' ? { key, operation: `tools/call ${name}` } : undefined;
    this.approvalId = params.approvalId;
    this.onProgress = context.onProgress;
    this.questions = params.questions;
    this.#context = context;
  }

  get signal(): AbortSignal {
    return this.#context.signal;
  }

  readonly checkCredential = () => this.#context.checkCredential();
}

/** The kinds of questions that the client can ask its person. Only clients of 2026-07-28 say so in each request. */
export function questionsIn(context: RequestContext): Questions | undefined {
  const { message } = context;
  if (!isModern(context) || !isObject(message) || !isObject(message.params)) return undefined;
  const { _meta: meta, inputResponses, requestState } = message.params;
  const capabilities = isObject(meta) ? meta[CLIENT_CAPABILITIES_META_KEY] : undefined;
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined;
  if (!isObject(elicitation)) return undefined;
  const modes = (['form', 'url'] as const).filter((mode) => isObject(elicitation[mode]));
  return {
    modes: Object.keys(elicitation).length === 0 ? ['form'] : modes,
    ...(isObject(inputResponses) && { answers: inputResponses }),
    ...(typeof requestState === 'string' && { state: requestState }),
  };
}

/** The result of a call: what came of it, or the questions that the client asks its person before it makes the call again. */
export function resultOrQuestions(answer: Answer, questions: Questions | undefined): Result {
  if (answer.ok || !answer.wants || !questions) return toolResult(answer);
  const { requests, state } = answer.wants;
  const canAsk = Object.values(requests).every(({ params }) => questions.modes.includes(modeOf(params)));
  if (!canAsk) return toolResult(answer);
  return {
    resultType: 'input_required',
    inputRequests: requests,
    ...(state !== undefined && { requestState: state }),
  };
}

function modeOf(params: object): 'form' | 'url' {
  return 'mode' in params && params.mode === 'url' ? 'url' : 'form';
}
