import { testStartsAndStops } from './start-and-stop-rounds.ts';

testStartsAndStops('postgres', 3);
