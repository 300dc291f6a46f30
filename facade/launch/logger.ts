import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';

/** JSON lines on standard error, so that standard output holds only what the operator is to read. */
export function createLogger({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  const redact = ['authorization', 'cookie', '*.authorization', '*.cookie', '*.secret', '*.token'];
  return pino({ level: logLevel, redact }, pino.destination({ dest: 2, sync: true }));
}
