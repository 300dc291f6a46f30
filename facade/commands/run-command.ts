import { type ParseArgsConfig, parseArgs } from 'node:util';
import { lacksFiles } from '../../store/disk-full.ts';
import { OperatorError } from '../../store/errors.ts';

/** An error that the operator can solve is shown as its message. Any other is a fault of ours and is shown with its stack. */
export function explainExit(error: unknown): void {
  console.error(toldOf(error));
  process.exitCode = 1;
}

function toldOf(error: unknown): unknown {
  if (!(error instanceof OperatorError) && !isSystemError(error)) return error;
  const { message } = error;
  if (lacksFiles(error)) {
    return `This process can open no more files (${message}). Raise its limit of open files (\`ulimit -n\`), then try again.`;
  }
  if (!message.includes('EADDRINUSE')) return message;
  return `The port is taken, perhaps by a server that still runs (${message}). Stop that one, or set PORT.`;
}

/** For example a port in use, or a folder that cannot be read. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}

/** Runs a command. The process ends with the code that it returns. */
export function runCommand(main: () => Promise<unknown>): void {
  main().then((code) => {
    if (typeof code === 'number') process.exitCode = code;
  }, explainExit);
}

/** Shows the usage and ends the process, where that is what it was called for. */
export function answerHelp(usage: string): void {
  if (!process.argv.slice(2).some((word) => word === '--help' || word === '-h')) return;
  console.log(usage);
  process.exit(0);
}

/** The flags of this command, and its words: from `least` to `most` of them. @throws OperatorError that shows the usage */
export function readArguments<const Options extends NonNullable<ParseArgsConfig['options']>>(
  usage: string,
  options: Options,
  [least, most = least]: readonly [number, number?],
) {
  answerHelp(usage);
  try {
    const { values, positionals } = parseArgs({ args: process.argv.slice(2), options, allowPositionals: most > 0 });
    if (positionals.length >= least && positionals.length <= most) return { values, words: positionals };
  } catch (cause) {
    throw new OperatorError(`${cause instanceof Error ? cause.message : cause}\n\n${usage}`, { cause });
  }
  throw new OperatorError(usage);
}
