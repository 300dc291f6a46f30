import { StoreDamaged, StoreLocked } from '../store/errors.ts';
import { ConfigError } from './config.ts';

/** For what the operator can mend the message is enough; anything else is a fault of ours and keeps its stack. */
export function explainExit(error: unknown): void {
  const known = [ConfigError, StoreDamaged, StoreLocked].some((type) => error instanceof type) || isSystemError(error);
  console.error(known && error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/** A port in use, a folder that cannot be read. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
