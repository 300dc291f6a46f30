import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { toToolError } from '../../tools/core/errors.ts';
import { failureOf } from '../../tools/core/telemetry/span.ts';
import type { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import { contextOf } from './request-context.ts';
import { sendError } from './respond.ts';

/** Takes an error that no code expected. `response`: of the request that failed by it, which is answered. */
export type OnUncaught = (error: unknown, response?: ServerResponse) => void;

/** Logs and counts such an error. It ends its own request at most. */
export function createOnUncaught(logger: Logger, { measures }: Pick<Telemetry, 'measures'>): OnUncaught {
  return (error, response) => {
    measures.uncaught.point(failureOf(error)).add(1);
    // Following a request into its timers and promises would take 16 us of each call, so only an error in its own time names it.
    logger.error({ ...(response && { requestId: contextOf(response).requestId }), err: error }, 'uncaught error');
    if (response) answerFailure(response, error);
  };
}

function answerFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  try {
    sendError(response, toToolError(error));
  } catch {
    response.destroy(); // the headers that were set by then cannot be sent
  }
}
