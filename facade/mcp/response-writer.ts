import type { ServerResponse } from 'node:http';
import { type Result, SERVER_INFO_META_KEY } from '@modelcontextprotocol/server';
import type { ErrorBody } from '../../resources/error.ts';
import { jsonOf } from '../../tools/core/registry/frozen-output.ts';
import type { ListedTool } from '../../tools/core/registry/listed-tool.ts';
import type { Answer } from '../../tools/core/registry/registry.ts';
import { sendText } from '../http/respond.ts';
import type { RequestId } from './message.ts';
import type { Era } from './protocol-versions.ts';

/**
 * The result of `tools/call`. A failed call has no structured content, because older clients check that against the output schema; but one that
 * waits for a person has what leads to that person.
 */
export function toolResult(answer: Answer): Result {
  if (answer.ok && answer.isContent) return { ...answer.output };
  if (!answer.ok) {
    const waits = waitingFor(answer.error);
    const content = [{ type: 'text', text: JSON.stringify(answer.error) }];
    return { content, ...(waits && { structuredContent: waits }), isError: true };
  }
  return { content: [{ type: 'text', text: jsonOf(answer.output) }], structuredContent: answer.output };
}

/** Writes whole responses as JSON text, equal to what the SDK makes of `toolResult` and of a list. */
export class ResponseWriter {
  readonly #modern: string;

  constructor(server: { readonly name: string; readonly version: string }) {
    const { name, version } = server;
    const meta = JSON.stringify({ [SERVER_INFO_META_KEY]: { name, version } });
    this.#modern = `,"resultType":"complete","_meta":${meta}`;
  }

  toolResult(answer: Answer, id: RequestId, era: Era): string {
    const text = jsonOf(answer.ok ? answer.output : answer.error);
    const waits = answer.ok ? undefined : waitingFor(answer.error);
    const members = answer.ok && answer.isContent ? text.slice(1, -1) : resultMembers(text, answer.ok, waits);
    return `{"result":{${members}${era === 'modern' ? this.#modern : ''}}${closing(id)}`;
  }

  /** The response up to its id. `closing` adds the id. */
  listWithoutId(tools: readonly ListedTool[], era: Era): Buffer {
    const rest = era === 'modern' ? `,"ttlMs":0,"cacheScope":"private"${this.#modern}` : '';
    return Buffer.from(`{"result":{"tools":${JSON.stringify(tools)}${rest}}`);
  }
}

/** What leads to the person whom the call waits for. Undefined if it waits for nobody. */
function waitingFor({ code, approvalId, expiresAt, url }: ErrorBody): object | undefined {
  return approvalId === undefined ? undefined : { code, approvalId, expiresAt, url };
}

function resultMembers(text: string, ok: boolean, waits: object | undefined): string {
  const failed = waits ? `"structuredContent":${JSON.stringify(waits)},"isError":true` : '"isError":true';
  const rest = ok ? `"structuredContent":${text}` : failed;
  return `"content":[{"type":"text","text":${JSON.stringify(text)}}],${rest}`;
}

export function closing(id: RequestId): string {
  return `,"jsonrpc":"2.0","id":${typeof id === 'string' ? JSON.stringify(id) : id}}`;
}

export function sendJsonText(response: ServerResponse, status: number, text: string): void {
  sendText(response, status, text, 'application/json');
}

export function sendNothing(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'Content-Length': 0, 'Cache-Control': 'no-store' }).end();
}
