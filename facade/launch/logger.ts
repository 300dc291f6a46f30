import { type DestinationStream, type Logger, pino } from 'pino';
import { withoutCredentials } from '../../tools/core/access/key-secret.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { Scrubber } from '../../tools/core/outbound/untrusted-text.ts';
import { traceOfLog } from '../../tools/core/telemetry/span.ts';
import { SignInRefused } from '../../tools/sign-in/id-token.ts';
import type { Config } from '../config/config.ts';
import { secretsOf } from '../config/config-secrets.ts';
import type { McpOptions } from '../mcp/mcp.ts';

/** Logs JSON lines without secrets, by default on standard error. Standard output is only for what the operator should read. */
export function createLogger(config: Pick<Config, 'logLevel'> & Partial<Config>, to?: DestinationStream): Logger {
  const redact = ['authorization', 'cookie', '*.authorization', '*.cookie', '*.secret', '*.token'];
  const scrubber = new Scrubber(secretsOf(config));
  const streamWrite = (line: string) => scrubber.text(withoutCredentials(line));
  return pino(
    { level: config.logLevel, redact, mixin: traceOfLog, hooks: { streamWrite } },
    to ?? pino.destination({ dest: 2, sync: true }),
  );
}

export interface FailedCall {
  readonly requestId: string;
  readonly tool?: string;
  readonly principal?: Principal;
  readonly address?: string;
}

/** Failures go to the log: those of requests and calls with the id of the request. */
export function failuresIn(logger: Logger) {
  const onFailure = (cause: unknown) => logger.error({ err: cause }, 'background work failed');
  const onError: McpOptions['onError'] = (cause, exchange) =>
    exchange ? logger.error({ requestId: exchange.requestId, err: cause }, 'request failed') : onFailure(cause);
  return { onFailure, onError, onCallFailure: (cause: unknown, call: FailedCall) => logFailure(logger, cause, call) };
}

/** A refused sign-in is not a failure of the server. */
function logFailure(logger: Logger, cause: unknown, { requestId, tool, address, principal }: FailedCall): void {
  if (cause instanceof SignInRefused) {
    const from = address ?? (principal?.type === 'anonymous' ? principal.id : undefined);
    logger.warn({ requestId, address: from, reason: cause.message }, 'sign-in refused');
  } else logger.error({ err: cause, requestId, tool }, 'tool call failed');
}
