import type { ServerResponse } from 'node:http';
import { type ErrorBody, errorStatus } from '../../resources/error.ts';
import { type ErrorDetail, errorBodyOf, type ToolError } from '../../tools/core/errors.ts';
import { jsonOf } from '../../tools/core/registry/frozen-output.ts';
import { batchedEnd } from './batched-end.ts';
import { isUnread } from './body.ts';
import { contextOf } from './request-context.ts';

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, jsonOf(body), 'application/json; charset=utf-8');
}

/** Answers are never cached: they depend on who asks. */
export function sendText(response: ServerResponse, status: number, text: string, type: string): void {
  response.writeHead(status, [
    ...['Content-Type', type, 'Content-Length', String(Buffer.byteLength(text))],
    ...['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'],
  ]);
  batchedEnd(response, text);
}

type ShownDetail = Pick<ErrorDetail, 'retryAfterSeconds' | 'invalidToken' | 'signIn'>;

export function sendErrorBody(response: ServerResponse, body: ErrorBody, detail: ShownDetail = {}): void {
  setErrorHeaders(response, body, detail);
  sendJson(response, errorStatus[body.code], body);
}

/** The headers of an error, whatever the form of its body. */
export function setErrorHeaders(response: ServerResponse, body: Pick<ErrorBody, 'code'>, detail: ShownDetail): void {
  const { retryAfterSeconds } = detail;
  if (body.code === 'unauthenticated') response.setHeader('WWW-Authenticate', signInChallenge(detail));
  if (body.code === 'too_large' || isUnread(response.req)) response.setHeader('Connection', 'close');
  if (body.code === 'unavailable') response.setHeader('Retry-After', '5');
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
}

export function sendError(response: ServerResponse, error: ToolError): void {
  sendErrorBody(response, errorBodyOf(error, contextOf(response).requestId), error.detail);
}

const MCP_ADDRESS = /^(.*?)(\/api\/(?:v1|capsules\/[^/]+)\/mcp)$/;

export function metadataUrlOf(resource: string): string {
  return resource.replace(MCP_ADDRESS, '$1/.well-known/oauth-protected-resource$2');
}

/** `WWW-Authenticate` for a caller who is not let in (RFC 6750), with where a token is to be had (RFC 9728, section 5.1). */
export function signInChallenge({ invalidToken, signIn }: Pick<ErrorDetail, 'invalidToken' | 'signIn'>): string {
  const parts = [
    ...(invalidToken ? ['error="invalid_token"'] : []),
    ...(signIn ? [`resource_metadata="${signIn.metadata}"`, `scope="${signIn.scope}"`] : []),
  ];
  return parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`;
}

/** `WWW-Authenticate` for an app whose token is valid but lacks a scope (RFC 6750, section 3.1). */
export function stepUpChallenge(resource: string, scopes: readonly string[]): string {
  return `Bearer error="insufficient_scope", scope="${scopes.join(' ')}", resource_metadata="${metadataUrlOf(resource)}"`;
}
