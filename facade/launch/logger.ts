import { type DestinationStream, type Logger, pino } from 'pino';
import { traceOfLog } from '../../tools/core/telemetry/span.ts';
import type { Config } from '../config/config.ts';

/** Logs JSON lines, by default on standard error. Standard output is only for what the operator should read. */
export function createLogger({ logLevel }: Pick<Config, 'logLevel'>, to?: DestinationStream): Logger {
  const redact = ['authorization', 'cookie', '*.authorization', '*.cookie', '*.secret', '*.token'];
  return pino({ level: logLevel, redact, mixin: traceOfLog }, to ?? pino.destination({ dest: 2, sync: true }));
}
