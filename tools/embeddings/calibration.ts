import { cosine, type Vector } from './vectors.ts';

/** Sentences that have nothing to do with each other: how near a model puts them says what near is to it. */
export const UNRELATED = [
  'The recipe needs two eggs, a cup of flour and a pinch of salt.',
  'Glaciers carve valleys as they move slowly downhill.',
  'The orchestra rehearses every Tuesday evening in the old hall.',
  'Bees return to the hive when the temperature drops.',
  'The referee stopped the match because of heavy rain.',
  'A prime number has exactly two divisors.',
  'The ferry to the island leaves twice a day in summer.',
  'Oil paint dries slowly and can be reworked for days.',
  'The treaty ended a war that had lasted thirty years.',
  'Owls hunt at night and swallow their prey whole.',
  'The engine makes a rattling noise when it is cold.',
  'Her grandmother taught her how to knit woollen socks.',
  'The comet will be visible again in seventy-six years.',
  'Tomatoes should be watered in the morning, not at noon.',
  'The dentist recommended a softer toothbrush.',
  'The novel is told by a lighthouse keeper.',
];

/** The place of their vectors among those of records. */
export const CALIBRATION = { collection: 'calibration', id: 'unrelated', state: '1' };

/** So many standard deviations above the mean of unrelated texts a passage is near. Set on the questions of the handbook. */
const DEVIATIONS = 3.3;

/** The cosine from which on a passage is near to a query. */
export function nearFrom(unrelated: readonly Vector[]): number {
  const cosines = unrelated.flatMap((one, at) => unrelated.slice(at + 1).map((other) => cosine(one, other)));
  const mean = cosines.reduce((sum, value) => sum + value, 0) / Math.max(1, cosines.length);
  const variance = cosines.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, cosines.length);
  return Math.max(LEAST, Math.min(MOST, mean + DEVIATIONS * Math.sqrt(variance)));
}

/** Also to a model that puts all texts near to each other, or all of them far, equal ones are near and others are not. */
const [LEAST, MOST] = [0.05, 0.95];
