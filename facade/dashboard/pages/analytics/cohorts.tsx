import { percent } from '../../format.ts';
import type { MetricAnswer } from './metrics.ts';
import { periodOf } from './numbers.ts';

/** Cohorts below each other, the share that came back in each later period; the stronger the colour, the more. */
export function Cohorts({ answer }: { readonly answer: MetricAnswer }) {
  const rows = answer.rows ?? [];
  const average = valuesOf(answer.totals.average);
  const periods = Math.max(0, ...rows.map(({ values }) => valuesOf(values).length));
  return (
    <div class="table-box cohorts">
      <table class="table numbers" aria-label="Retention by cohort">
        <thead>
          <tr>
            <th scope="col">Cohort</th>
            <th scope="col" class="end">
              Users
            </th>
            {Array.from({ length: periods }, (_, period) => (
              <th key={period} scope="col" class="end">
                {period}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <CohortRow name="All" size={Number(answer.totals.users ?? 0)} values={average} />
          {rows.map(({ cohort, size, values }) => (
            <CohortRow
              key={String(cohort)}
              name={periodOf(String(cohort), answer.range.interval)}
              size={Number(size)}
              values={valuesOf(values)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CohortRow({
  name,
  size,
  values,
}: {
  readonly name: string;
  readonly size: number;
  readonly values: readonly (number | null)[];
}) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="end">{size}</td>
      {values.map((value, period) => (
        <td key={period} class="end heat" style={{ background: heatOf(value ?? 0) }}>
          {value === null ? '' : percent(value, 0)}
        </td>
      ))}
    </tr>
  );
}

/** In five steps, the darker the larger the share. */
function heatOf(share: number): string {
  return `color-mix(in srgb, var(--s1) ${8 * Math.ceil(share * 5)}%, transparent)`;
}

/** The share of each later period; null where it is not over yet. */
function valuesOf(values: unknown): readonly (number | null)[] {
  return Array.isArray(values) ? values : [];
}
