import { type AsyncHook, createHook } from 'node:async_hooks';
import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { closeAll } from './at-end.ts';

/** A test file as it lies in the bundle of the run, and its name there. */
export interface TestFile {
  readonly name: string;
  readonly path: string;
}

/**
 * Loads and runs test files one after the other in this process, each as a suite of its name: hooks at the top of a file are those of its
 * suite, and what its tests have left open is closed before the next file is loaded. An error that nobody catches ends the file.
 */
export async function runFiles(files: readonly TestFile[], timeoutMs: number): Promise<void> {
  process.once('SIGTERM', () => closeAll().then(() => process.exit(1)));
  let follower: AsyncHook | undefined;
  for (const file of files) {
    follower?.enable();
    await new Promise<void>((ended) => {
      const found = hookEnabledBy(() => describeFile(file, timeoutMs, { ended, loaded: () => follower?.disable() }));
      follower ??= found;
    });
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
