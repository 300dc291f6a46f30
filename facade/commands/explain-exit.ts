import { OperatorError } from '../../store/errors.ts';

/** An error that the operator can solve is shown as its message. Any other is a fault of ours and is shown with its stack. */
export function explainExit(error: unknown): void {
  const known = error instanceof OperatorError || isSystemError(error);
  console.error(known && error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/** For example a port in use, or a folder that cannot be read. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
