import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Ends the process groups of children also where this process is killed and cannot end them itself. */
export interface Watchdog {
  watch(group: number): void;
  forget(group: number): void;
  close(): void;
}

/** Reads lines of `+<group>` and `-<group>`. When its input ends, it sends the remaining groups SIGTERM, then SIGKILL. */
const SCRIPT = `
groups=
while read -r line; do
  case $line in
    +*) groups="$groups \${line#+}" ;;
    -*) left=; for group in $groups; do [ "$group" = "\${line#-}" ] || left="$left $group"; done; groups=$left ;;
  esac
done
[ -n "$groups" ] || exit 0
for signal in TERM KILL; do
  sleep 1
  for group in $groups; do kill -s $signal -- -$group 2>/dev/null; done
done
`;

/** A shell that outlives this process for a moment. Windows has no process groups; there, children see their input end. */
export function createWatchdog(): Watchdog {
  const groups = new Set<number>();
  let shell: ChildProcess | undefined;

  function tell(line: string): void {
    if (process.platform === 'win32') return;
    if (!shell) {
      const env = { PATH: '/usr/bin:/bin' };
      shell = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, env });
      shell.on('error', () => {});
      shell.once('exit', () => {
        shell = undefined;
      });
      shell.stdin?.on('error', () => {});
      shell.unref();
      (shell.stdin as Socket | null)?.unref(); // the pipe of a child is a socket
      for (const group of groups) shell.stdin?.write(`+${group}\n`);
    } else shell.stdin?.write(line);
  }

  return {
    watch(group) {
      groups.add(group);
      tell(`+${group}\n`);
    },
    forget(group) {
      groups.delete(group);
      tell(`-${group}\n`);
    },
    close() {
      shell?.stdin?.end();
      shell = undefined;
    },
  };
}
