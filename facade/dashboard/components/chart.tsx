import { useState } from 'preact/hooks';
import { lazy } from '../lazy.tsx';
import { Button } from './button.tsx';
import { type ChartProps, toneOf } from './series.ts';

const Plot = lazy(async () => (await import('./plot.tsx')).Plot);
Plot.begin().catch(() => {}); // the first chart shows what failed

/** A chart with the same numbers as a table, which a button shows. The table is there for those who see no chart, too. */
export function Chart(props: ChartProps) {
  const { title, labels, series, format = String } = props;
  const [asTable, setAsTable] = useState(false);
  return (
    <figure class="chart">
      <figcaption class="chart-head">
        <span class="chart-title">{title}</span>
        <span class="legend">
          {series.length > 1 &&
            series.map((one, index) => (
              <span
                key={one.label}
                class={one.dashed ? 'legend-item dashed' : 'legend-item'}
                style={{ '--tone': toneOf(one, index) }}
              >
                {one.label}
              </span>
            ))}
        </span>
        <Button
          look="quiet"
          icon={asTable ? 'chart' : 'table'}
          label={asTable ? 'Show the chart' : 'Show the numbers as a table'}
          onClick={() => setAsTable(!asTable)}
        />
      </figcaption>
      {!asTable && (
        <div aria-hidden="true" style={{ minHeight: `${props.height ?? 220}px` }}>
          <Plot {...props} />
        </div>
      )}
      <section
        class={asTable ? 'chart-table' : 'visually-hidden'}
        aria-label={title}
        tabIndex={asTable ? 0 : undefined}
      >
        <table class="table numbers" aria-label={title}>
          <thead>
            <tr>
              <th scope="col">Period</th>
              {series.map(({ label }) => (
                <th key={label} scope="col" class="end">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {labels.map((label, index) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {series.map(({ label: name, values }) => (
                  <td key={name} class="end">
                    {values[index] == null ? '–' : format(values[index])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </figure>
  );
}
