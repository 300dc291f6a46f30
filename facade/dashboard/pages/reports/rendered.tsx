import { useMemo } from 'preact/hooks';
import type { z } from 'zod';
import type { renderedReport } from '../../../../resources/report.ts';
import { labelOf, number, useAnswer, useTool } from '../../app.ts';
import { Chart } from '../../components/chart.tsx';
import { Shown } from '../../components/tool-runner.tsx';
import type { Row } from '../../kind/spec.ts';
import { ErrorBox, Json, Link, Mono, Skeleton, Time } from '../../ui.ts';
import { METRICS, type Metric, type MetricAnswer } from '../analytics/metrics.ts';
import { Charts, Rows, Totals } from '../analytics/shown.tsx';

export type RenderedReport = z.infer<typeof renderedReport>;

export function Rendered({ row }: { readonly row: Row }) {
  const { data, error } = useAnswer<RenderedReport>('get_report', { id: row.id, render: true });
  const { tool, arguments: args } = row.query as RenderedReport['query']; // as the schema of a report says
  return (
    <section class="overview" aria-label="Result">
      {error && <ErrorBox error={error} />}
      {!data && !error && <Skeleton lines={5} />}
      {data?.result && (
        <Result tool={tool} answer={data.result} shownAs={data.visualization} title={String(row.title)} />
      )}
      <details>
        <summary>
          Asked with <Mono>{tool}</Mono>{' '}
          {data?.asOf && (
            <span class="faint">
              <Time at={data.asOf} />
            </span>
          )}
        </summary>
        <Json value={args} label="Arguments" />
        <Link to={`/tools/${tool}`}>Try other arguments</Link>
      </details>
    </section>
  );
}

type ResultProps = Readonly<{ tool: string; answer: Row; shownAs: string; title: string }>;

function Result({ tool, answer, shownAs, title }: ResultProps) {
  const schema = useTool(tool)?.outputSchema;
  const rows = rowsIn(answer);
  const metric = METRICS.find((one) => one.tool === tool);
  if (shownAs === 'number') return <OneNumber answer={answer} title={title} />;
  if (metric) return <AsMetric metric={metric} answer={answer} shownAs={shownAs} />;
  if ((shownAs === 'line' || shownAs === 'bar') && rows.length > 0) {
    return <AsChart rows={rows} bars={shownAs === 'bar'} title={title} />;
  }
  return <Shown answer={answer} schema={schema} />;
}

/** What every metric answers; reports of other tools have none of it. */
const NOTHING: MetricAnswer = { asOf: '', definition: '', range: { from: '', to: '', timezone: '' }, totals: {} };

type AsMetricProps = Readonly<{ metric: Metric; answer: Row; shownAs: string }>;

/** As the page of the metric shows it: its periods as lines, as bars or as a table. */
function AsMetric({ metric, answer, shownAs }: AsMetricProps) {
  const charts = metric.charts?.map((chart) => ({ ...chart, bars: shownAs === 'bar' })) ?? [];
  const shown = { metric: { ...metric, charts }, answer: { ...NOTHING, ...answer } };
  const { series = [] } = shown.answer;
  return (
    <>
      <Totals {...shown} />
      {shownAs === 'table' ? series.length > 0 && <Shown answer={{ series }} /> : <Charts {...shown} />}
      <Rows {...shown} />
    </>
  );
}

function rowsIn({ series, rows, data }: Row): readonly Row[] {
  const found = [series, rows, data].find((one) => Array.isArray(one) && one.length > 0);
  return (found ?? []) as readonly Row[]; // lists of the tools hold objects
}

const MOST_SERIES = 5;

/** The numbers of each row by the first text in it, which is a date or a name. */
function AsChart({ rows, bars, title }: Readonly<{ rows: readonly Row[]; bars: boolean; title: string }>) {
  const drawn = useMemo(() => {
    const [first = {}] = rows;
    const names = Object.keys(first).filter((name) => rows.some((row) => typeof row[name] === 'number'));
    const label = Object.keys(first).find((name) => typeof first[name] === 'string');
    return {
      labels: rows.map((row, index) => (label ? String(row[label]) : String(index + 1))),
      series: names.slice(0, MOST_SERIES).map((name) => ({
        label: labelOf(name),
        values: rows.map((row) => (typeof row[name] === 'number' ? row[name] : null)),
      })),
    };
  }, [rows]);
  return (
    <div class="card card-chart">
      <Chart title={title} bars={bars} format={number} {...drawn} />
    </div>
  );
}

/** The first number of the totals, or of the answer itself. */
function OneNumber({ answer, title }: { readonly answer: Row; readonly title: string }) {
  const totals = typeof answer.totals === 'object' && answer.totals !== null ? (answer.totals as Row) : answer;
  const found = Object.entries(totals).find(([, one]) => typeof one === 'number');
  const [name, value] = found ?? ['', rowsIn(answer).length];
  return (
    <div class="headlines">
      <div class="headline">
        <span class="headline-title">{name === '' ? title : labelOf(name)}</span>
        <span class="headline-number">{number(Number(value))}</span>
      </div>
    </div>
  );
}
