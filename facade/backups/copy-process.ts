import { fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

const LAUNCH = fileURLToPath(new URL('../launch/launch.mjs', import.meta.url));
const MOST_SAID = 2000;

/**
 * Runs the program `backup`, in a process of its own because opening the copy takes as much memory and time as a start. The process ends with
 * this one. Rejects with what the program says.
 */
export function copyInProcess(dataDir: string, target: string, signal: AbortSignal): Promise<void> {
  const child = fork(LAUNCH, ['commands/backup', target], {
    env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: '' },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    signal,
    killSignal: 'SIGKILL',
  });
  giveWay(child.pid);
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, MOST_SAID);
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => child.pid === undefined && reject(error));
    child.once('close', (code, killed) => {
      const [reason = ''] = said.trim().split('\n');
      if (code === 0) resolve();
      else reject(new Error(reason || `the program ended with ${killed ?? code}`));
    });
  });
}

/** Calls go first. */
function giveWay(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The copy is made all the same where the system does not let it.
  }
}
