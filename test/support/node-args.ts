import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where the run of the tests keeps their bundle, in the environment of each of its processes. */
export const BUNDLE = 'AGENT_ADMIN_TEST_BUNDLE';

/** Makes node run a program of `facade/` as its npm script does; of this project, or of a copy of it. */
export function programArgs(program: string, project = root): string[] {
  return [join(project, 'facade/launch/launch.mjs'), program];
}

/** Makes node run a file of the project: from the bundle of the run where there is one, else by tsx. */
export function nodeArgs(file: string): string[] {
  const folder = process.env[BUNDLE];
  const bundled = folder && join(folder, relative(root, file)).replace(/\.ts$/, '.mjs');
  return bundled && existsSync(bundled) ? [bundled] : ['--import', 'tsx', file];
}
