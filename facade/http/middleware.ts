import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { addressOf } from './caller-address.ts';
import { requestIdOf } from './native-prototypes.ts';

/** CORS for the pages of these origins; requests of all others go on as if there were none. */
export function browserAccess(origins: readonly string[]) {
  const allow = cors({
    origin: [...origins],
    credentials: true,
    exposedHeaders: ['X-Request-Id', 'Idempotency-Replayed', 'Retry-After', 'WWW-Authenticate'],
  });
  return (request: Request, response: Response, next: () => void): void => {
    const preflight = 'access-control-request-method' in request.headers;
    const known = origins.includes(request.headers.origin ?? '') && (request.method !== 'OPTIONS' || preflight);
    if (known) allow(request, response, next);
    else next();
  };
}

export function requestLog(logger: Logger) {
  return (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const started = performance.now();
    const { method, url } = request;
    // The connection tells it no more once it is closed.
    const address = addressOf(request);
    response.on('finish', () => {
      const [path] = (url ?? '').split('?');
      const requestId = requestIdOf(response);
      const durationMs = Math.round(performance.now() - started);
      logger.debug({ requestId, address, method, path, status: response.statusCode, durationMs }, 'request');
    });
    next();
  };
}
