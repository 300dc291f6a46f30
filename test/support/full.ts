const asked = process.env.FULL;

/** Whether the heavy rounds run: `FULL=1`, as in CI, or `FULL=long`. */
export const FULL = asked === '1' || asked === 'long';

/** The share of the heavy rounds that a full run makes. A long one makes all. */
const SHARE = asked === 'long' ? 1 : 1 / 3;

/** How often a heavy check runs: what a usual run needs to notice a mistake made today, and what a long run adds to find rare ones. */
export function rounds(usual: number, long: number): number {
  return FULL ? Math.round(usual + SHARE * (long - usual)) : usual;
}
