import type { IncomingHttpHeaders } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server';
import type { RequestContext } from '../http/request-context.ts';
import { type CallParams, callTool, type McpDeps, rpcErrorFor } from './calls.ts';
import { mayLog } from './logging.ts';
import { isObject, isRequestId, type RequestId, rpcErrorJson } from './message.ts';
import { type Era, LEGACY_VERSIONS, MODERN_VERSION } from './protocol-versions.ts';
import { closing, type ResponseWriter, sendJsonText } from './response-writer.ts';
import { areViewsAlone, declaresViews } from './views.ts';
import { acceptsEvents } from './web.ts';

interface FastPathDeps extends McpDeps {
  readonly writer: ResponseWriter;
}

interface PlainRequest {
  readonly id: RequestId;
  readonly era: Era;
  /** Whether its client shows the pages of tools. */
  readonly showsViews: boolean;
  /** Undefined for `tools/list`. */
  readonly call: CallParams | undefined;
}

/** Answers ordinary `tools/call` and `tools/list` exactly as the SDK would, and leaves messages with anything unusual to it. */
export class FastPath {
  readonly #deps: FastPathDeps;

  constructor(deps: FastPathDeps) {
    this.#deps = deps;
  }

  /** Undefined if the message is not for this path. */
  serve(context: RequestContext, message: unknown): Promise<void> | undefined {
    const plain = recognise(message, context);
    if (!plain) return undefined;
    if (!plain.call) return this.#serveList(context, plain);
    const tool = this.#deps.registry.find(plain.call.name);
    if (!tool) return undefined;
    const hasSteps = tool.inSteps === true || tool.answersContent === true;
    return hasSteps && this.#mayLog(context, plain, plain.call)
      ? undefined
      : this.#serveCall(context, plain, plain.call);
  }

  /** Whether log messages may be sent: they need a stream and a caller who wants them. */
  #mayLog(context: RequestContext, { era }: PlainRequest, { name }: CallParams): boolean {
    const { levels, registry } = this.#deps;
    return era === 'legacy' && levels.of(context) !== undefined && acceptsEvents(context) && mayLog(registry, name);
  }

  async #serveCall(context: RequestContext, { id, era }: PlainRequest, call: CallParams): Promise<void> {
    const { registry, cancellable, writer } = this.#deps;
    if (era === 'legacy') cancellable.enter(context, id);
    let text: string;
    try {
      text = writer.toolResult(await callTool(registry, context, call), id, era);
    } catch (thrown) {
      text = rpcErrorJson(id, rpcErrorFor(context, thrown, this.#deps));
    } finally {
      if (era === 'legacy') cancellable.leave(context, id);
    }
    if (!context.aborted) sendJsonText(context.response, 200, text);
  }

  #serveList(context: RequestContext, { id, era, showsViews }: PlainRequest): Promise<void> | undefined {
    const { lists } = this.#deps;
    try {
      const list = lists.prepared(context, era, showsViews);
      if (!list) return undefined;
      list.send(context.response, 'application/json', closing(id));
    } catch (thrown) {
      sendJsonText(context.response, 200, rpcErrorJson(id, rpcErrorFor(context, thrown, this.#deps)));
    }
    return DONE;
  }
}

const DONE = Promise.resolve();

function recognise(message: unknown, context: RequestContext): PlainRequest | undefined {
  if (!isObject(message) || !hasOnly(message, MESSAGE_MEMBERS) || message.jsonrpc !== '2.0') return undefined;
  const { id, method, params } = message;
  if (!isRequestId(id)) return undefined;
  const isCall = method === 'tools/call';
  if (!isCall && method !== 'tools/list') return undefined;
  if (params === undefined ? isCall || 'params' in message : !isObject(params)) return undefined;
  const given = (params ?? NOTHING) as Record<string, unknown>; // the line above checked it
  const call = isCall ? recogniseCall(given) : undefined;
  if (isCall ? !call : !hasOnly(given, LIST_MEMBERS)) return undefined;
  const { headers } = context.request;
  const era = eraOf(headers, isCall ? 'tools/call' : 'tools/list', call?.name, given._meta);
  if (!era || (isCall && mayStream(given._meta, context))) return undefined;
  return { id, era, call, showsViews: era === 'legacy' || declaresViews(given._meta) };
}

const NOTHING = {};

function recogniseCall(params: Record<string, unknown>): CallParams | undefined {
  if (!hasOnly(params, CALL_MEMBERS)) return undefined;
  const { name, arguments: given, _meta: meta } = params;
  if (typeof name !== 'string' || (given === undefined ? 'arguments' in params : !isObject(given))) return undefined;
  const key = isObject(meta) ? meta.idempotencyKey : undefined;
  if (key !== undefined && typeof key !== 'string') return undefined;
  return { name, arguments: (given ?? {}) as object, idempotencyKey: key }; // checked above
}

/** The era of a request. Undefined if its version, headers and `_meta` leave doubt. */
function eraOf(headers: IncomingHttpHeaders, method: string, name: string | undefined, meta: unknown): Era | undefined {
  const version = headers['mcp-protocol-version'];
  if (version === undefined || LEGACY_VERSIONS.includes(String(version)))
    return isPlainMeta(meta, LEGACY_META) ? 'legacy' : undefined;
  if (version !== MODERN_VERSION || headers['mcp-method'] !== method || headers['mcp-name'] !== name) return undefined;
  if (!isObject(meta) || !isPlainMeta(meta, MODERN_META)) return undefined;
  return meta[PROTOCOL_VERSION_META_KEY] === MODERN_VERSION && meta[CLIENT_CAPABILITIES_META_KEY] !== undefined
    ? 'modern'
    : undefined;
}

type MetaChecks = Readonly<Record<string, (value: unknown) => boolean>>;

const isString = (value: unknown) => typeof value === 'string';

const LEGACY_META: MetaChecks = {
  progressToken: isRequestId,
  idempotencyKey: isString,
  traceparent: isString,
  tracestate: isString,
  baggage: isString,
};
const MODERN_META: MetaChecks = {
  ...LEGACY_META,
  [PROTOCOL_VERSION_META_KEY]: isString,
  [CLIENT_INFO_META_KEY]: (info) =>
    isObject(info) && hasOnly(info, INFO_MEMBERS) && isString(info.name) && isString(info.version),
  [CLIENT_CAPABILITIES_META_KEY]: (capabilities) =>
    isObject(capabilities) && (Object.keys(capabilities).length === 0 || areViewsAlone(capabilities)),
};

function isPlainMeta(meta: unknown, checks: MetaChecks): boolean {
  if (meta === undefined) return true;
  if (!isObject(meta)) return false;
  for (const member of Object.keys(meta)) {
    if (!Object.hasOwn(checks, member) || !checks[member]?.(meta[member])) return false;
  }
  return true;
}

/** A call that reports progress is answered by a stream where the client accepts one. */
function mayStream(meta: unknown, context: RequestContext): boolean {
  return isObject(meta) && meta.progressToken !== undefined && acceptsEvents(context);
}

function hasOnly(value: Record<string, unknown>, members: ReadonlySet<string>): boolean {
  for (const member of Object.keys(value)) if (!members.has(member)) return false;
  return true;
}

const MESSAGE_MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params']);
const CALL_MEMBERS = new Set(['name', 'arguments', '_meta']);
const LIST_MEMBERS = new Set(['_meta']);
const INFO_MEMBERS = new Set(['name', 'version']);
