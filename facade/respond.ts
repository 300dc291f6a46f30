import type { ServerResponse } from 'node:http';
import { type ErrorBody, errorStatus } from '../resources/error.ts';
import type { ToolError } from '../tools/errors.ts';
import { errorBody } from '../tools/errors.ts';

/** Ends the exchange with a JSON body. Answers are never cached: they depend on who asks. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(text);
}

export function sendErrorBody(response: ServerResponse, body: ErrorBody): void {
  if (body.code === 'unauthenticated') response.setHeader('WWW-Authenticate', 'Bearer');
  if (body.code === 'unavailable') response.setHeader('Retry-After', '5');
  sendJson(response, errorStatus[body.code], body);
}

export function sendError(response: ServerResponse, error: ToolError, requestId: string): void {
  sendErrorBody(response, errorBody(error, requestId));
}
