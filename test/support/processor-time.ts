import { readFileSync } from 'node:fs';

/** Milliseconds of processor time that the work takes, so that other programs of the machine do not count. */
export function workMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Linux counts in hundredths of a second, whatever the machine. */
const TICK_MS = 10;

/** Milliseconds of processor time that this process has used, on Linux with those of its children that have ended. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + ofChildren();
}

function ofChildren(): number {
  try {
    // Behind the name, which may hold anything but ends with the last bracket: cutime and cstime of proc_pid_stat(5).
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
  } catch {
    return 0;
  }
}
