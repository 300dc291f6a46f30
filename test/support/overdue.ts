import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const SUFFIX = '.running';
const LOOK_MS = 5000;
/** What a file may take after its time-out to close what it opened. */
const CLOSING_MS = 60_000;

/** Where a process of the run notes the file that it runs. */
export function runningFile(folder: string, pid: number): string {
  return join(folder, `${pid}${SUFFIX}`);
}

/**
 * Kills each process of the run whose file goes on long after its time-out, and says so: a busy loop, or a closing that never ends, lets no
 * time-out of its own fire, and would hold up the run for as long as a process may take. Returns what ends the watch.
 */
export function killOverdue(folder: string, timeoutMs: number, lookMs = LOOK_MS): () => void {
  const timer = setInterval(() => {
    for (const entry of readdirSync(folder).filter((name) => name.endsWith(SUFFIX))) {
      const path = join(folder, entry);
      const since = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
      if (since === undefined || Date.now() - since < timeoutMs + CLOSING_MS) continue;
      const pid = Number.parseInt(entry, 10);
      if (!isChild(pid)) continue;
      console.error(
        `${readFileSync(path, 'utf8')} goes on ${CLOSING_MS / 1000} s after its time-out: its process is killed`,
      );
      try {
        process.kill(pid, 'SIGKILL');
      } catch {}
    }
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** The number of a process that has ended may be another's by now. */
function isChild(pid: number): boolean {
  const { status, stdout } = spawnSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' });
  return status === 0 && Number(stdout) === process.pid;
}
