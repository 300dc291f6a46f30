import { execFileSync, spawnSync } from 'node:child_process';

/** Limits that the system sets for a running process: the largest size of its files, and how many it may have open. */
export type Limit = 'fsize' | 'nofile';

/** Why limits of running processes cannot be set here, where they cannot. */
export const withoutLimits: string | undefined =
  spawnSync('prlimit', ['--version']).status === 0 ? undefined : 'needs prlimit, of the package util-linux';

/** From now on the process has this limit. Returns what sets it back. */
export function limit(pid: number, name: Limit, value: number): () => void {
  const before = execFileSync('prlimit', ['--pid', String(pid), `--${name}`, '--output=SOFT', '--noheadings'], {
    encoding: 'utf8',
  });
  set(pid, name, String(value));
  return () => {
    set(pid, name, before.trim());
  };
}

function set(pid: number, name: Limit, value: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--${name}=${value}:`]);
}
