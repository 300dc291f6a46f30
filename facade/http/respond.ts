import type { ServerResponse } from 'node:http';
import { type ErrorBody, errorStatus } from '../../resources/error.ts';
import type { ErrorDetail, ToolError } from '../../tools/core/errors.ts';
import { errorBodyOf } from '../../tools/core/errors.ts';
import { jsonOf } from '../../tools/core/registry/frozen-output.ts';
import { batchedEnd } from './batched-end.ts';
import { isUnread } from './body.ts';
import { signInChallenge } from './challenge.ts';
import { contextOf } from './request-context.ts';

/** Ends the exchange with a JSON body. Answers are never cached: they depend on who asks. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const json = jsonOf(body);
  response.writeHead(status, [
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(json)),
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
  ]);
  batchedEnd(response, json);
}

export function sendErrorBody(
  response: ServerResponse,
  body: ErrorBody,
  detail: Pick<ErrorDetail, 'retryAfterSeconds' | 'invalidToken' | 'signIn'> = {},
): void {
  const { retryAfterSeconds } = detail;
  if (body.code === 'unauthenticated') response.setHeader('WWW-Authenticate', signInChallenge(detail));
  if (body.code === 'too_large' || isUnread(response.req)) response.setHeader('Connection', 'close');
  if (body.code === 'unavailable') response.setHeader('Retry-After', '5');
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
  sendJson(response, errorStatus[body.code], body);
}

export function sendError(response: ServerResponse, error: ToolError): void {
  sendErrorBody(response, errorBodyOf(error, contextOf(response).requestId), error.detail);
}
