import { OperatorError, StoreBusy, StoreDamaged, StoreUnavailable } from './errors.ts';

/** The disk, a quota or the largest size of a file: codes of the system, and the words of an engine that passes them on. */
const FULL = /\b(ENOSPC|EDQUOT|EFBIG)\b|no space left on device|disk quota exceeded|file too large/i;

/** The process or the system has no descriptor left. */
const NO_FILES = /\b(EMFILE|ENFILE)\b|too many open files/i;

export class DiskFull extends StoreBusy {}

/** Why the store did not keep a change at the place: it is damaged, has no room, or what is said of it else. */
export function refusalOf(cause: unknown, place: string, otherwise: string): StoreUnavailable | StoreDamaged {
  if (cause instanceof StoreDamaged) return cause;
  if (lacksFiles(cause)) return noFileError(cause);
  if (!isDiskFull(cause)) return new StoreUnavailable(otherwise, { cause });
  const what = `There is no room for the change in ${place} (${reasonOf(cause)})`;
  return new DiskFull(`${what}, so it was not made. Make room on that disk, then try again; reading goes on.`, {
    cause,
  });
}

export function startErrorOf(error: unknown, folder: string): unknown {
  if (error instanceof OperatorError || !isDiskFull(error)) return error;
  const what = `There is no room in the data folder ${folder} (${reasonOf(error)}).`;
  return new OperatorError(
    `${what} Make room on that disk, or set DATA_DIR to a folder on another one; then start again.`,
    {
      cause: error,
    },
  );
}

export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return error instanceof DiskFull || FULL.test(code) || FULL.test(error.message) || isDiskFull(error.cause);
}

/** Whether it failed for want of a descriptor, which says nothing about a file. */
export function lacksFiles(error: unknown): boolean {
  return error instanceof Error && (NO_FILES.test(error.message) || lacksFiles(error.cause));
}

export function noFileError(cause: unknown): StoreBusy {
  if (cause instanceof StoreBusy) return cause;
  const why = `This process can open no more files (${reasonOf(cause)}), so the call was not made.`;
  return new StoreBusy(`${why} Raise its limit of open files (\`ulimit -n\`), or try again.`, { cause });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
