import type { Progress } from '../../core/registry/call.ts';

export const FREELY = 20;
export const EVERY_MS = 100;

/** Passes on the first reports of progress, then a few each second. */
export function throttled(report: (progress: Progress) => void): (progress: Progress) => void {
  let [count, last] = [0, 0];
  return (progress) => {
    count += 1;
    const now = performance.now();
    if (count > FREELY && now - last < EVERY_MS) return;
    last = now;
    report(progress);
  };
}
