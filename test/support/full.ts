/** Whether the heavy rounds run completely, as they do in CI: `FULL=1`. */
export const FULL = process.env.FULL === '1';

/** How often a heavy check runs: what a usual run needs to notice a mistake made today, and what a full run adds to find rare ones. */
export function rounds(usual: number, full: number): number {
  return FULL ? full : usual;
}
