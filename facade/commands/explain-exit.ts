import { OperatorError } from '../../store/errors.ts';

/** If the operator can fix it, the message is enough; anything else is our fault and keeps its stack. */
export function explainExit(error: unknown): void {
  const known = error instanceof OperatorError || isSystemError(error);
  console.error(known && error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/** A port in use, a folder that cannot be read. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
