import { isUtf8 } from 'node:buffer';
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR } from '@modelcontextprotocol/server';

export type RequestId = string | number;

/** A JSON-RPC error. The caller sees its message unchanged. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The message in the body. @throws RpcError */
export function parseMessage(body: Buffer): unknown {
  if (!isUtf8(body)) throw new RpcError(PARSE_ERROR, 'Parse error: the body is not UTF-8.');
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new RpcError(PARSE_ERROR, 'Parse error: the body is not valid JSON.');
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

export function argumentsIn(message: unknown): object | undefined {
  if (!isObject(message) || message.method !== 'tools/call' || !isObject(message.params)) return undefined;
  return isObject(message.params.arguments) ? message.params.arguments : undefined;
}

/** @throws RpcError if the message has more members than any needs; the tool's schema checks its arguments. */
export function requireLight(message: unknown): void {
  const given = argumentsIn(message);
  const open: unknown[] = [message];
  let count = 0;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const items = Object.values(value);
    count += items.length;
    if (count > MOST_MEMBERS) throw new RpcError(INVALID_REQUEST, TOO_HEAVY);
    for (const item of items) if (typeof item === 'object' && item !== null && item !== given) open.push(item);
  }
}

export const MOST_MEMBERS = 5000;
const TOO_HEAVY = `Invalid request: more than ${MOST_MEMBERS} members besides the arguments of a tool; leave out what the method does not take.`;

/** The id for the answer: that of the request, or null where none can be read. */
export function answerableId(message: unknown): RequestId | null {
  return isObject(message) && typeof message.method === 'string' && isRequestId(message.id) ? message.id : null;
}

/** What is wrong with a message that is no JSON-RPC message of any revision. */
export function malformed(message: unknown): RpcError {
  if (Array.isArray(message)) {
    return new RpcError(INVALID_REQUEST, 'Invalid request: batches are not accepted; send one message at a time.');
  }
  if (answerableId(message) !== null && isObject(message) && 'params' in message) {
    const { jsonrpc, id, method, params, ...rest } = message;
    if (jsonrpc === '2.0' && Object.keys(rest).length === 0) return malformedParams(params);
  }
  const expected = 'jsonrpc "2.0", a method, a string or integer id, and params only beside them';
  return new RpcError(INVALID_REQUEST, `Invalid request: a request has ${expected}.`);
}

function malformedParams(params: unknown): RpcError {
  if (!isObject(params)) return new RpcError(INVALID_PARAMS, 'Invalid params: params is an object.');
  return new RpcError(
    INVALID_PARAMS,
    'Invalid params: _meta is an object, and its progressToken a string or an integer.',
  );
}

/** The error to show for a thrown value. The cause of an internal error goes to `onError`. */
export function toRpcError(thrown: unknown, onError: (cause: unknown) => void): RpcError {
  if (thrown instanceof RpcError) return thrown;
  onError(thrown);
  return new RpcError(INTERNAL_ERROR, 'The server failed; the operator finds the cause in the log.');
}

export function rpcErrorJson(id: RequestId | null, { code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } });
}
