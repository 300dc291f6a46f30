import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import type { NextFunction, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { contextOf, type RequestContext } from './request-context.ts';
import { isBelowApi } from './target.ts';

export type Middleware = (context: RequestContext, next: NextFunction) => Promise<void> | void;

export function toExpress(step: Middleware): RequestHandler {
  return (_: IncomingMessage, response: ServerResponse, next) => step(contextOf(response), next);
}

export function belowApi(step: Middleware): Middleware {
  return (context, next) => (isBelowApi(context.target) ? step(context, next) : next());
}

/** CORS for pages of these origins, below `/api`. Requests from other origins get no CORS headers. */
export function browserAccess(origins: readonly string[]): Middleware {
  const allow = cors({
    origin: [...origins],
    credentials: true,
    exposedHeaders: [
      'X-Request-Id',
      'X-Run-Id',
      'X-Thread-Id',
      'Idempotency-Replayed',
      'Retry-After',
      'WWW-Authenticate',
    ],
  });
  return belowApi(({ request, response }, next) => {
    const preflight = 'access-control-request-method' in request.headers;
    const known = origins.includes(request.headers.origin ?? '') && (request.method !== 'OPTIONS' || preflight);
    if (known) allow(request, response, next);
    else next();
  });
}

export function requestLog(logger: Logger): Middleware {
  return ({ request, response, requestId, address }, next) => {
    const started = performance.now();
    const { method, url } = request;
    response.on('finish', () => {
      const path = shownPath(url ?? '');
      const durationMs = Math.round(performance.now() - started);
      logger.debug({ requestId, address, method, path, status: response.statusCode, durationMs }, 'request');
    });
    next();
  };
}

/** Without the query, and without the id of an app's request, which its browser holds as a secret. */
function shownPath(url: string): string {
  const [path = ''] = url.split('?');
  return path.replace(/^(\/oauth\/(?:consent|authorize)\/).+$/, '$1{id}');
}
