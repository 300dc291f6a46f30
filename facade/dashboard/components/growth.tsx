import { percent } from '../format.ts';

export interface GrowthProps {
  /** As a share of what it was before. */
  readonly value: number;
  /** Less is better, as with churn. */
  readonly inverse?: boolean;
  /** The change in words, where a share of what it was says little. */
  readonly words?: string;
}

/** By how much a number rose or fell, in the colour of good or bad news. */
export function Growth({ value, inverse = false, words = percent(Math.abs(value)) }: GrowthProps) {
  const isGood = value === 0 ? undefined : value > 0 !== inverse;
  return (
    <span class={isGood === undefined ? 'same' : isGood ? 'grew' : 'fell'}>
      <span aria-hidden="true">{value < 0 ? '↓' : value > 0 ? '↑' : '='}</span>
      <span class="only-heard">{value < 0 ? 'down' : value > 0 ? 'up' : 'the same'}</span> {words}
    </span>
  );
}
