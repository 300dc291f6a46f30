import type { ServerResponse } from 'node:http';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { toToolError } from '../../tools/core/errors.ts';
import { failureOf } from '../../tools/core/telemetry/span.ts';
import type { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import { contextOf, type RequestContext } from './request-context.ts';
import { sendError, signInChallenge } from './respond.ts';
import { isBelowApi, isBrowsing } from './target.ts';

export interface ErrorOptions {
  readonly logger: Logger;
  /** Answers a person who opens an MCP address in a browser. The challenge is among the headers already. */
  showAddress(context: RequestContext): Promise<void>;
}

/** Answers what was thrown at an endpoint or below `/api`, and at a page where it is no failure of its own: a store that is away, for example. */
export function answerErrors({ logger, showAddress }: ErrorOptions): ErrorRequestHandler {
  function answer({ response, requestId, here: [first] }: RequestContext, thrown: unknown): void {
    const error = toToolError(thrown);
    if (error.code === 'internal') logger.error({ requestId, err: error.cause }, 'request failed');
    if (response.headersSent) response.destroy();
    else (first?.sendError ?? sendError)(response, error);
  }

  // Express knows by the four parameters that it takes errors.
  return (thrown: unknown, request, response, next) => {
    const context = contextOf(response);
    const { code, detail } = toToolError(thrown);
    const isOfPage = context.here.length === 0 && !isBelowApi(context.target);
    if (isOfPage && code === 'internal') return next(thrown); // expected by nobody
    if (code !== 'unauthenticated' || !isBrowsing(request) || !isMcpAddress(context)) return answer(context, thrown);
    response.setHeader('WWW-Authenticate', signInChallenge(detail));
    return showAddress(context).catch((failure) => answer(context, failure));
  };
}

/** Whether it could be the address of an MCP endpoint: it is not said which capsules there are. */
function isMcpAddress({ here: [first], parameters }: RequestContext): boolean {
  return first?.mcp === 'unified' || (first?.mcp === 'capsule' && /^cap_[0-9a-z]{26}$/.test(parameters.id ?? ''));
}

/** Takes an error that no code expected. `response`: of the request that failed by it, which is answered. */
export type OnUncaught = (error: unknown, response?: ServerResponse) => void;

/** Logs and, where there is telemetry, counts such an error. It ends its own request at most. */
export function createOnUncaught(logger: Logger, telemetry?: Pick<Telemetry, 'measures'>): OnUncaught {
  return (error, response) => {
    telemetry?.measures.uncaught.point(failureOf(error)).add(1);
    // Following a request into its timers and promises would take 16 us of each call, so only an error in its own time names it.
    logger.error({ ...(response && { requestId: contextOf(response).requestId }), err: error }, 'uncaught error');
    if (response) answerFailure(response, error);
  };
}

function answerFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  try {
    (contextOf(response).here[0]?.sendError ?? sendError)(response, toToolError(error));
  } catch {
    response.destroy(); // the headers that were set by then cannot be sent
  }
}
