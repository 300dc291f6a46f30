import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nodeArgs } from '../support/node-args.ts';

const child = fileURLToPath(new URL('./load-package-child.ts', import.meta.url));

/** Which packages were loaded by a process that has no descriptor left. */
function loadedBy(...args: string[]): boolean[] {
  const shell = ['-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath, ...nodeArgs(child), ...args];
  const { stdout, stderr } = spawnSync('sh', shell, { encoding: 'utf8' });
  assert.ok(stdout, stderr);
  return Object.values(JSON.parse(stdout));
}

it('packages are loaded later also where no descriptor is left', () => {
  assert.ok(loadedBy('reserve').every((isLoaded) => isLoaded));
  assert.ok(!loadedBy().some((isLoaded) => isLoaded), 'without a reserve none is');
});
