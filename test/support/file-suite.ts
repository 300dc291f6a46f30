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
 * suite, and what its tests have left open is closed before the next file is loaded.
 */
export async function runFiles(files: readonly TestFile[], timeoutMs: number): Promise<void> {
  for (const file of files) await runFile(file, timeoutMs);
}

/** Resolves when the tests of the file are over, whatever came of them. */
function runFile({ name, path }: TestFile, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    describe(name, { timeout: timeoutMs }, async () => {
      after(closeAll);
      after(() => resolve());
      await import(pathToFileURL(path).href);
    });
  });
}
