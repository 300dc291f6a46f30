import type { ErrorCode, Issue } from '../../resources/error.ts';
import { OperatorError } from '../../store/errors.ts';
import { howToRun } from '../config/how-to-run.ts';
import type { ClientConfig } from './client-config.ts';

type ServerAnswer = { readonly output: unknown } | { readonly failure: Failure } | { readonly refusal: string };

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
): Promise<ServerAnswer> {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } };
  const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
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
  if (result.isError) return { failure: JSON.parse(result.content[0]?.text ?? '{"error": "no reason given"}') };
  return { output: result.structuredContent ?? plain(result.content) };
}

/** Tools of integrations may answer with content alone. A single text is shown as it is. */
function plain(content: NonNullable<RpcAnswer['result']>['content']): unknown {
  const [only, ...more] = content;
  return only?.type === 'text' && more.length === 0 ? only.text : content;
}
