import type { ServerResponse } from 'node:http';
import { INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import type { Door } from '../../resources/audit-entry.ts';
import type { Cluster } from '../../store/cluster-port.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { Answer, Call, Registry } from '../../tools/core/registry/registry.ts';
import type { Exchange } from '../http/exchange.ts';
import type { LogLevels } from './logging.ts';
import { isObject, type RequestId, RpcError, toRpcError } from './message.ts';
import type { ToolLists } from './tool-list.ts';
import type { ViewPages } from './views.ts';
import { sendNothing } from './wire.ts';

/** What answering a message needs, in the SDK and in the fast path. */
export interface DoorParts {
  readonly registry: Registry;
  readonly lists: ToolLists;
  readonly flights: Flights;
  readonly levels: LogLevels;
  readonly pages: ViewPages;
  onError(cause: unknown, exchange?: Pick<Exchange, 'requestId'>): void;
  /** See `McpDoorOptions`. */
  readonly answerFirst?: AnswerFirst | undefined;
}

export type AnswerFirst = (message: unknown) => Result | undefined;

/** The params of `tools/call`, checked to be well-formed. */
export interface CallParams {
  readonly name: string;
  readonly arguments: object;
  readonly idempotencyKey?: string | undefined;
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
  return { name, arguments: given, idempotencyKey: key };
}

/** @throws RpcError where the request names one key in its header and another in the message */
export function requireOneKey({ request }: Pick<Exchange, 'request'>, message: unknown): void {
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

/** Names the key of a call too, as over REST. */
const KEY_HEADER = 'idempotency-key';

/** A message that is being answered. */
export interface UnderWay {
  readonly exchange: Exchange;
  readonly flight: Flight;
}

/** Calls the tool for the principal of the exchange. @throws RpcError for an unknown tool */
export async function callTool(
  registry: Registry,
  { exchange, flight }: UnderWay,
  params: CallParams,
): Promise<Answer> {
  const isKnown = registry.find(params.name) !== undefined;
  const answer = await registry.call(new McpCall(exchange, params, flight));
  if (!answer.ok) exchange.failure = 'tool_error';
  // The call of an unknown tool is still made, for its audit entry and its hint.
  if (!answer.ok && !isKnown) throw new RpcError(INVALID_PARAMS, answer.error.error);
  if (answer.replayed && !exchange.response.headersSent) exchange.response.setHeader('Idempotency-Replayed', 'true');
  return answer;
}

/** The error to answer for a thrown value. It is noted in the exchange, and its cause, where the server failed, in the log. */
export function rpcErrorFor(exchange: Exchange, thrown: unknown, { onError }: Pick<DoorParts, 'onError'>): RpcError {
  const error = toRpcError(thrown, (cause) => onError(cause, exchange));
  exchange.failure = String(error.code);
  return error;
}

class McpCall implements Call {
  readonly principal: Principal;
  readonly tool: string;
  readonly input: object;
  readonly door: Door;
  readonly requestId: string;
  readonly idempotency: Call['idempotency'];
  readonly onProgress: Call['onProgress'];
  readonly questions: Call['questions'];
  readonly #exchange: Exchange;
  readonly #flight: Flight;

  constructor(exchange: Exchange, params: CallParams, flight: Flight) {
    const { name, idempotencyKey: key = exchange.request.headers[KEY_HEADER] } = params;
    this.principal = exchange.principal;
    this.tool = name;
    this.input = params.arguments;
    this.door = exchange.door;
    this.requestId = exchange.requestId;
    this.idempotency = typeof key === 'string' ? { key, operation: `tools/call ${name}` } : undefined;
    this.onProgress = flight.onProgress;
    this.questions = params.questions;
    this.#exchange = exchange;
    this.#flight = flight;
  }

  get signal(): AbortSignal {
    return this.#flight.signal;
  }

  readonly renewed = () => this.#exchange.renewed();
}

/** One message that is being answered. Its signal aborts when the client goes away or cancels it. */
export class Flight {
  /** Undefined for a notification, which nothing can cancel. */
  readonly key: string | undefined;
  /** Set where the client wants reports of progress. */
  onProgress: Call['onProgress'];
  /** Called with the principal each time it is checked again during a stream. */
  onRenewed: ((principal: Principal) => void) | undefined;
  readonly #response: ServerResponse;
  /** Made when it is first needed, because it costs more than the rest of a short call. */
  #controller: AbortController | undefined;
  #cancelled = false;

  constructor(key: string | undefined, response: ServerResponse) {
    this.key = key;
    this.#response = response;
  }

  get aborted(): boolean {
    return this.#cancelled || (this.#response.destroyed && !this.#response.writableFinished);
  }

  get signal(): AbortSignal {
    this.#controller ??= this.#watched();
    return this.#controller.signal;
  }

  #watched(): AbortController {
    const controller = new AbortController();
    if (this.aborted) controller.abort();
    this.#response.setMaxListeners(0); // each message of a batch adds one
    this.#response.once('close', () => {
      if (this.aborted) controller.abort();
    });
    return controller;
  }

  abort(): void {
    this.#cancelled = true;
    this.#controller?.abort();
  }

  /** A cancelled request gets no answer; it only ends. */
  cancel(): void {
    this.abort();
    if (!this.#response.headersSent) sendNothing(this.#response, 202);
  }
}

/**
 * The requests that are being answered. A `notifications/cancelled` comes in a request of its own, and finds here the request that it
 * names.
 */
export class Flights {
  readonly #byKey = new Map<string, Flight | Flight[]>();
  readonly #cluster: Cluster | undefined;

  /** `cluster`: the other processes, where a request may be answered while its cancellation comes here. */
  constructor(cluster: Cluster | undefined) {
    this.#cluster = cluster;
    cluster?.onTold(CANCELLED, (key) => this.#cancel(String(key)));
  }

  enter({ principal, response }: Exchange, id: RequestId | null): Flight {
    const flight = new Flight(id === null ? undefined : keyOf(principal, id), response);
    if (flight.key !== undefined) {
      const others = this.#byKey.get(flight.key);
      if (Array.isArray(others)) others.push(flight);
      else this.#byKey.set(flight.key, others ? [others, flight] : flight);
    }
    return flight;
  }

  leave(flight: Flight): void {
    if (flight.key === undefined) return;
    const found = this.#byKey.get(flight.key);
    if (Array.isArray(found)) found.splice(found.indexOf(flight), 1);
    if (found === flight || (Array.isArray(found) && found.length === 0)) this.#byKey.delete(flight.key);
  }

  /** Clients that share a key may use the same ids. Where more than one request has the id, none is cancelled. */
  cancel(principal: Principal, id: RequestId): void {
    const key = keyOf(principal, id);
    if (this.#byKey.has(key)) this.#cancel(key);
    else this.#cluster?.tell(CANCELLED, key);
  }

  #cancel(key: string): void {
    const found = this.#byKey.get(key);
    const flight = Array.isArray(found) && found.length === 1 ? found[0] : found;
    if (flight instanceof Flight) flight.cancel();
  }
}

const CANCELLED = 'cancelled request';

function keyOf({ type, id: who }: Principal, id: RequestId): string {
  return `${type} ${who} ${typeof id} ${id}`;
}
