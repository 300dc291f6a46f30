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
      <span class="visually-hidden">{value < 0 ? 'down' : value > 0 ? 'up' : 'the same'}</span> {words}
    </span>
  );
}

/** A course of numbers as a small line, for the eye alone: the number itself stands beside it. */
export function Sparkline({ values, tone = 1 }: Readonly<{ values: readonly number[]; tone?: 1 | 2 | 3 | 4 | 5 }>) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const span = most - least || 1;
  const points = values.map((value, index) => {
    const x = values.length === 1 ? 0 : (index / (values.length - 1)) * 100;
    return `${x.toFixed(2)},${(29 - ((value - least) / span) * 26).toFixed(2)}`;
  });
  if (values.length < 2) return <span class="sparkline" />;
  return (
    <svg
      class="sparkline"
      style={{ color: `var(--s${tone})` }}
      viewBox="0 0 100 32"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <polygon points={`0,32 ${points.join(' ')} 100,32`} />
      <polyline points={points.join(' ')} />
    </svg>
  );
}
