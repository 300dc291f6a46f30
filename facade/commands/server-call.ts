import type { ErrorCode, Issue } from '../../resources/error.ts';
import { OperatorError } from '../../store/errors.ts';
import { howToRun } from '../config/how-to-run.ts';
import type { ClientConfig } from './client-config.ts';

/** `replayed`: the answer was kept from an earlier call with the same idempotency key. */
export type ServerAnswer =
  | { readonly output: unknown; readonly replayed: boolean }
  | { readonly failure: Failure; readonly replayed: boolean }
  | { readonly refusal: string };

interface Failure {
  readonly error: string;
  readonly code?: ErrorCode;
  readonly issues?: readonly Issue[];
}

interface RpcAnswer {
  readonly result?: {
    readonly isError?: boolean;
    readonly structuredContent?: unknown;
    readonly content: readonly { readonly type: string; readonly text?: string }[];
  };
  readonly error?: string | { readonly message: string };
  readonly issues?: readonly Issue[];
}

/** Calls a tool of the running server. @throws OperatorError when no server answers */
export async function callServer(
  { mcpUrl, apiKey }: ClientConfig,
  name: string,
  input: unknown,
  idempotencyKey?: string,
): Promise<ServerAnswer> {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } };
  const headers = headersOf(apiKey, 'application/json', idempotencyKey);
  const response = await fetch(mcpUrl, { method: 'POST', headers, body: JSON.stringify(call) }).catch((cause) => {
    const next = `start it with ${howToRun('start')}, or set BASE_URL`;
    throw new OperatorError(`No server answers at ${mcpUrl.origin}; ${next}.`, { cause });
  });
  const answer = await response.json().catch((cause) => {
    const message = `The server at ${mcpUrl} is not agent-admin (HTTP ${response.status}); check BASE_URL.`;
    throw new OperatorError(message, { cause });
  });
  const { result, error, issues = [] } = answer as RpcAnswer; // JSON of our own server
  if (!result) {
    const said = typeof error === 'string' ? error : (error?.message ?? `HTTP ${response.status}`);
    return { refusal: [said, ...issues.map(({ message }) => message)].join(': ') };
  }
  const replayed = isReplayed(response);
  if (result.isError)
    return { failure: JSON.parse(result.content[0]?.text ?? '{"error": "no reason given"}'), replayed };
  return { output: result.structuredContent ?? plain(result.content), replayed };
}

function headersOf(apiKey: string, type: string, idempotencyKey: string | undefined): Record<string, string> {
  return {
    Authorization: `Bearer ${apiKey}`,
    'Content-Type': type,
    ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
  };
}

function isReplayed(response: Response): boolean {
  return response.headers.get('Idempotency-Replayed') === 'true';
}

export interface SentFile {
  readonly bytes: Buffer;
  readonly name: string;
  readonly sha256: string;
  /** Of the document: with `id`, it is changed. */
  readonly fields: { readonly id?: string; readonly projectId?: string; readonly tags?: readonly string[] };
}

/** Sends a file that is too large for a message of MCP. @throws OperatorError when no server answers */
export async function sendFile(
  { mcpUrl, apiKey }: ClientConfig,
  file: SentFile,
  idempotencyKey?: string,
): Promise<ServerAnswer> {
  const { bytes, name, sha256, fields } = file;
  if (!mcpUrl.pathname.endsWith(UNIFIED)) {
    return { refusal: 'The file is too large for the endpoint of a capsule; import it with an API key.' };
  }
  const { id, tags, ...others } = fields;
  const path = id === undefined ? 'documents' : `documents/${encodeURIComponent(id)}`;
  const url = new URL(mcpUrl);
  url.pathname = `${url.pathname.slice(0, -UNIFIED.length)}/${path}`;
  url.search = new URLSearchParams({ name, sha256, ...others, ...(tags && { tags: tags.join(',') }) }).toString();
  const headers = headersOf(apiKey, 'application/octet-stream', idempotencyKey);
  const method = id === undefined ? 'POST' : 'PATCH';
  const response = await fetch(url, { method, headers, body: new Uint8Array(bytes) }).catch((cause) => {
    throw new OperatorError(`No server answers at ${url.origin}, or it ended the connection; try again.`, { cause });
  });
  const body = await response.json().catch((cause) => {
    throw new OperatorError(`The server at ${url} is not agent-admin (HTTP ${response.status}); check BASE_URL.`, {
      cause,
    });
  });
  const replayed = isReplayed(response);
  return response.ok ? { output: body, replayed } : { failure: body as Failure, replayed }; // JSON of our own server
}

const UNIFIED = '/mcp';

/** Tools of integrations may answer with content alone. A single text is shown as it is. */
function plain(content: NonNullable<RpcAnswer['result']>['content']): unknown {
  const [only, ...more] = content;
  return only?.type === 'text' && more.length === 0 ? only.text : content;
}
