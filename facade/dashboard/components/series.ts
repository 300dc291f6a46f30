export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** The colour, as in the tokens; by place where it is left out. */
  readonly tone?: 1 | 2 | 3 | 4 | 5;
  /** Drawn as a dashed line, for what is there to compare with. */
  readonly dashed?: boolean;
  /** The area below is filled. */
  readonly filled?: boolean;
}

export interface ChartProps {
  readonly title: string;
  /** The words below, one for each value. */
  readonly labels: readonly string[];
  readonly series: readonly Series[];
  readonly format?: (value: number) => string;
  /** Bars instead of lines. */
  readonly bars?: boolean;
  readonly height?: number;
}

/** The colour of a series, by its place where it names none. */
export function toneOf({ tone }: Pick<Series, 'tone'>, index: number): string {
  return `var(--s${tone ?? (index % 5) + 1})`;
}
