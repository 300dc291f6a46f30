import { CallError, call, renew } from '../../app.ts';
import { type FileRow, type ImportedRow, memberLabel } from './rows.ts';

/** A line of the file that was not imported, and why. */
export type Refused = Readonly<{ line: number; problem: string; row: ImportedRow | undefined }>;

type Imported = Readonly<Record<'created' | 'updated' | 'unchanged', number>>;

export interface Progress extends Imported {
  /** Nothing is imported: these are the counts of what an import would do. */
  readonly dryRun: boolean;
  readonly done: number;
  readonly of: number;
  readonly refused: readonly Refused[];
  /** How many rows of the file are none of ours, by the reason. */
  readonly leftOut?: ReadonlyMap<string, number>;
  /** The server takes no more calls for so long. */
  readonly waitSeconds?: number | undefined;
}

type Good = Extract<FileRow, { row: ImportedRow }>;

const MOST_ROWS = 10_000;
/** In characters of JSON. The server reads bodies of 4 MiB, and most characters are one or two bytes. */
const MOST_CHARACTERS = 2_000_000;

/** Parts that one call takes: of few enough rows, and small enough. */
function partsOf(rows: readonly Good[]): readonly (readonly Good[])[] {
  const parts: Good[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const one of rows) {
    const own = JSON.stringify(one.row).length;
    const last = parts.at(-1);
    if (last && last.length < MOST_ROWS && size + own <= MOST_CHARACTERS) last.push(one);
    else parts.push([one]);
    size = last === parts.at(-1) ? size + own : own;
  }
  return parts;
}

type ImportOptions = Readonly<{ dryRun: boolean; signal: AbortSignal; onProgress: (progress: Progress) => void }>;

/**
 * Imports the rows in as few calls as may be, or with `dryRun` only asks what that would do, and waits where the server asks to. A call
 * takes all of its rows or none, so those that it names as bad are left out and it is repeated.
 */
export async function importRows(
  type: string,
  rows: readonly FileRow[],
  { dryRun, signal, onProgress }: ImportOptions,
): Promise<void> {
  const bad = rows.flatMap((one): Refused[] => ('problem' in one ? [{ ...one, row: undefined }] : []));
  const good = rows.filter((one): one is Good => 'row' in one);
  const none = { created: 0, updated: 0, unchanged: 0 };
  let progress: Progress = { dryRun, done: bad.length, of: rows.length, ...none, refused: bad };
  onProgress(progress);
  try {
    for (const some of partsOf(good)) {
      if (signal.aborted) return;
      const onWait = (waitSeconds: number) => onProgress({ ...progress, waitSeconds });
      const { refused, ...counts } = await importSome({ type, dryRun }, some, { signal, onWait });
      progress = {
        ...progress,
        done: progress.done + some.length,
        created: progress.created + counts.created,
        updated: progress.updated + counts.updated,
        unchanged: progress.unchanged + counts.unchanged,
        refused: progress.refused.concat(refused),
      };
      onProgress(progress);
    }
  } finally {
    if (!dryRun) renew('import_records');
  }
}

type RetryOptions = Readonly<{ signal: AbortSignal; onWait: (seconds: number) => void }>;

async function importSome(
  how: { readonly type: string; readonly dryRun: boolean },
  rows: readonly Good[],
  { signal, onWait }: RetryOptions,
): Promise<Imported & { refused: readonly Refused[] }> {
  let left = rows;
  const refused: Refused[] = [];
  while (left.length > 0 && !signal.aborted) {
    try {
      const imported = await call<Imported>('import_records', { ...how, records: left.map(({ row }) => row) });
      return { ...imported, refused };
    } catch (error) {
      const seconds = waitIn(error);
      if (seconds !== undefined) {
        onWait(seconds);
        await pause(seconds * 1000, signal);
        continue;
      }
      const problems = problemsIn(error, left.length);
      if (problems.size === 0) throw error;
      for (const [index, problem] of problems) {
        const one = left[index];
        if (one) refused.push({ line: one.line, problem, row: one.row });
      }
      left = left.filter((_, index) => !problems.has(index));
    }
  }
  return { created: 0, updated: 0, unchanged: 0, refused };
}

const USUAL_WAIT_SECONDS = 5;

/** How long the server asks to wait. */
function waitIn(error: unknown): number | undefined {
  if (!(error instanceof CallError) || !/^(rate_limited|unavailable)$/.test(error.code)) return undefined;
  return error.retryAfterSeconds ?? USUAL_WAIT_SECONDS;
}

/** Waits so long, or until it is stopped. */
function pause(ms: number, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal.addEventListener('abort', resolve);
  });
}

/** What is wrong with which row, as `records[3].amount` says. */
function problemsIn(error: unknown, count: number): ReadonlyMap<number, string> {
  const problems = new Map<number, string>();
  if (!(error instanceof CallError)) return problems;
  for (const { path, message } of error.issues) {
    const [, index, member = ''] = /^records\[(\d+)\]\.?(.*)$/.exec(path) ?? [];
    if (index === undefined || Number(index) >= count) continue;
    const said = [problems.get(Number(index)), `${member && `${memberLabel(member)}: `}${message}`]
      .filter(Boolean)
      .join(' ');
    problems.set(Number(index), said);
  }
  return problems;
}
