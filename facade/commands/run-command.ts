import { type ParseArgsConfig, parseArgs } from 'node:util';
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

/** Runs a command. The process ends with the code that it returns. */
export function runCommand(main: () => Promise<unknown>): void {
  main().then((code) => {
    if (typeof code === 'number') process.exitCode = code;
  }, explainExit);
}

/** The flags of this command, and its words: from `least` to `most` of them. @throws OperatorError that shows the usage */
export function readArguments<const Options extends NonNullable<ParseArgsConfig['options']>>(
  usage: string,
  options: Options,
  [least, most = least]: readonly [number, number?],
) {
  try {
    const { values, positionals } = parseArgs({ args: process.argv.slice(2), options, allowPositionals: most > 0 });
    if (positionals.length >= least && positionals.length <= most) return { values, words: positionals };
  } catch (cause) {
    throw new OperatorError(`${cause instanceof Error ? cause.message : cause}\n\n${usage}`, { cause });
  }
  throw new OperatorError(usage);
}
