import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const SUFFIX = '.running';
const LOOK_MS = 5000;
/** What a file may take after its time-out to close what it opened, and the processes of a run to end after the last file. */
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
  return every(lookMs, () => {
    for (const entry of readdirSync(folder).filter((name) => name.endsWith(SUFFIX))) {
      const path = join(folder, entry);
      const since = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
      const pid = Number.parseInt(entry, 10);
      if (since === undefined || Date.now() - since < timeoutMs + CLOSING_MS || !isChild(pid)) continue;
      console.error(
        `${readFileSync(path, 'utf8')} goes on ${CLOSING_MS / 1000} s after its time-out: its process is killed`,
      );
      kill(pid);
    }
  });
}

/**
 * Kills what is left of the processes of a run after its last file, and names it: a program that somebody's test started holds the output of its
 * process open, for whose end the runner waits. They are known by their folder for temporary files. Returns what ends the watch.
 */
export function killStrays(
  temporary: string,
  isOver: () => boolean,
  lookMs = LOOK_MS,
  closingMs = CLOSING_MS,
): () => void {
  let over: number | undefined;
  return every(lookMs, () => {
    if (!isOver()) return;
    over ??= Date.now();
    if (Date.now() - over < closingMs) return;
    for (const { pid, command } of processesIn(temporary)) {
      console.error(`left after all files, and killed: ${command}`);
      kill(pid);
    }
  });
}

function every(ms: number, look: () => void): () => void {
  const timer = setInterval(look, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** The number of a process that has ended may be another's by now. */
function isChild(pid: number): boolean {
  const { status, stdout } = spawnSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' });
  return status === 0 && Number(stdout) === process.pid;
}

/** Where the system tells the environment of a process, as Linux does. */
function processesIn(temporary: string): { readonly pid: number; readonly command: string }[] {
  if (!existsSync('/proc/self/environ')) return [];
  const textOf = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8');
    } catch {
      return ''; // it has ended, or is another user's
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => textOf(name, 'environ').split('\0').includes(`TMPDIR=${temporary}`))
    .map((name) => ({ pid: Number(name), command: textOf(name, 'cmdline').replaceAll('\0', ' ') }));
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has just ended
  }
}
