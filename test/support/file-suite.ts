import { type AsyncHook, createHook } from 'node:async_hooks';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { closeAll, closeShared } from './at-end.ts';
import { runningFile } from './overdue.ts';
import { processorTime } from './processor-time.ts';

/** A test file as it lies in the bundle of the run, and its name there. */
export interface TestFile {
  readonly name: string;
  readonly path: string;
}

/** What a process runs. */
export interface Work {
  /** It begins with these. */
  readonly own: readonly TestFile[];
  /** Then it takes from these what no other process of the run has taken. Files that belong together are taken as one. */
  readonly queue: readonly (readonly TestFile[])[];
  /** So often at the most. */
  readonly most: number;
  /** The folder in which processes note what they take. Files of a process that dies are left for the others, but for the one it died of. */
  readonly taken: string;
  /** Gets a line of each file that ran: its name, and the milliseconds of processor time it took. */
  readonly costs: string;
  /** Of each file. */
  readonly timeoutMs: number;
}

/**
 * Loads and runs test files one after the other in this process, each as a suite of its name: hooks at the top of a file are those of its
 * suite, and what its tests have left open is closed before the next file is loaded. An error that nobody catches ends the file.
 */
export async function runFiles(work: Work): Promise<void> {
  process.once('SIGTERM', () =>
    closeAll()
      .then(closeShared)
      .then(() => process.exit(1)),
  );
  endWithParent();
  let follower: AsyncHook | undefined;
  for (const file of filesOf(work)) {
    follower?.enable();
    const before = processorTime();
    const running = runningFile(work.taken, process.pid);
    writeFileSync(running, file.name);
    await new Promise<void>((ended) => {
      const found = hookEnabledBy(() =>
        describeFile(file, work.timeoutMs, { ended, loaded: () => follower?.disable() }),
      );
      follower ??= found;
    });
    rmSync(running, { force: true });
    appendFileSync(work.costs, `${file.name}\t${Math.round(processorTime() - before)}\n`);
  }
  await closeShared();
  // Node.js tells the result once nothing is left to wait for: what a failed set-up left open would hold up the run.
  setTimeout(() => {
    console.error(`left open: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit(1);
  }, MOST_LEFT_MS).unref();
}

const MOST_LEFT_MS = 5000;

/** A run that is killed does not get to end its processes. */
function endWithParent(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  }, LOOK_FOR_PARENT_MS).unref();
}

const LOOK_FOR_PARENT_MS = 5000;

function* filesOf({ own, queue, most, taken }: Work): Generator<TestFile> {
  yield* own;
  let left = most;
  for (const [index, files] of queue.entries()) {
    if (left === 0) return;
    if (!take(join(taken, String(index)))) continue;
    left -= 1;
    yield* files;
  }
}

/** Makes the file; false where there is one. */
function take(file: string): boolean {
  try {
    writeFileSync(file, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

interface Told {
  /** The file has named all its tests. */
  loaded(): void;
  /** Its tests are over, whatever came of them. */
  ended(): void;
}

function describeFile({ name, path }: TestFile, timeoutMs: number, { loaded, ended }: Told): void {
  const stop = new AbortController();
  const fail = (error: unknown) => {
    console.error(`${name}: nobody caught`, error);
    stop.abort(error);
  };
  describe(name, { timeout: timeoutMs, signal: stop.signal }, async () => {
    process.on('uncaughtException', fail).on('unhandledRejection', fail);
    after(closeAll);
    after(() => {
      process.off('uncaughtException', fail).off('unhandledRejection', fail);
      ended();
    });
    await import(pathToFileURL(path).href).finally(loaded);
  });
}

/**
 * The hook by which node:test follows every promise, to know in which suite a test is declared and which test an error comes from. Nothing
 * is declared after a file is loaded, and following takes a sixth of the time of tests that make many calls.
 */
function hookEnabledBy(use: () => void): AsyncHook | undefined {
  const hooks: AsyncHook = Object.getPrototypeOf(createHook({}));
  const { enable } = hooks;
  let found: AsyncHook | undefined;
  hooks.enable = function (this: AsyncHook) {
    found ??= this;
    return enable.call(this);
  };
  use();
  hooks.enable = enable;
  return found;
}
