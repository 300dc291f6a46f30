import { rounds } from '../../support/full.ts';

/** How many worlds each property sees, and the seed that is printed where one fails. */
export const RUNS = { numRuns: rounds(4, 150), seed: 20260301 };
