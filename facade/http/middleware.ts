import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from 'cors';
import type { Logger } from 'pino';
import { addressOf } from './caller-address.ts';
import { requestIdOf } from './native-prototypes.ts';
import { isBelowApi, targetOf } from './target.ts';

/** What a request passes through before it is served. */
export type Step = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** CORS for pages of these origins, below `/api`. Requests from other origins get no CORS headers. */
export function browserAccess(origins: readonly string[]): Step {
  const allow = cors({
    origin: [...origins],
    credentials: true,
    exposedHeaders: ['X-Request-Id', 'Idempotency-Replayed', 'Retry-After', 'WWW-Authenticate'],
  });
  return (request, response, next) => {
    const preflight = 'access-control-request-method' in request.headers;
    const known = origins.includes(request.headers.origin ?? '') && (request.method !== 'OPTIONS' || preflight);
    if (known && isBelowApi(targetOf(request))) allow(request, response, next);
    else next();
  };
}

export function requestLog(logger: Logger): Step {
  return (request, response, next) => {
    const started = performance.now();
    const { method, url } = request;
    // A closed connection no longer knows its address.
    const address = addressOf(request);
    response.on('finish', () => {
      const path = shownPath(url ?? '');
      const requestId = requestIdOf(response);
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
