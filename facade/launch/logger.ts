import { type Logger, pino } from 'pino';
import type { Config } from '../config/config.ts';

/** Logs JSON lines on standard error. Standard output is only for what the operator should read. */
export function createLogger({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  const redact = ['authorization', 'cookie', '*.authorization', '*.cookie', '*.secret', '*.token'];
  return pino({ level: logLevel, redact }, pino.destination({ dest: 2, sync: true }));
}
