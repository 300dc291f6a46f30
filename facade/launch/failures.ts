import type { Logger } from 'pino';
import type { Principal } from '../../tools/core/access/principal.ts';
import { SignInRefused } from '../../tools/sign-in/refusal.ts';
import type { McpOptions } from '../mcp/mcp.ts';

/** A call or a step of signing in that failed. */
export interface Failed {
  readonly requestId: string;
  readonly tool?: string;
  readonly principal?: Principal;
  /** The address of a caller who is not authenticated. */
  readonly address?: string;
}

/** Failures go to the log: those of requests and calls with the id of the request. */
export function failuresIn(logger: Logger) {
  const onFailure = (cause: unknown) => logger.error({ err: cause }, 'background work failed');
  const onError: McpOptions['onError'] = (cause, exchange) =>
    exchange ? logger.error({ requestId: exchange.requestId, err: cause }, 'request failed') : onFailure(cause);
  return { onFailure, onError, onCallFailure: (cause: unknown, call: Failed) => logFailure(logger, cause, call) };
}

/** A refused sign-in is not a failure of the server. */
function logFailure(logger: Logger, cause: unknown, { requestId, tool, address, principal }: Failed): void {
  if (cause instanceof SignInRefused) {
    const from = address ?? (principal?.type === 'anonymous' ? principal.id : undefined);
    logger.warn({ requestId, address: from, reason: cause.message }, 'sign-in refused');
  } else logger.error({ err: cause, requestId, tool }, 'tool call failed');
}
