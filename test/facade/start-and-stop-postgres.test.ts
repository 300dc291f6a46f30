import { FULL } from '../support/full.ts';
import { testStartsAndStops } from './start-and-stop-rounds.ts';

// Three of them show the same in a usual run.
if (FULL || process.env.START_ROUNDS) testStartsAndStops('postgres', 1);
