import 'uplot/dist/uPlot.min.css';
import '../style/headlines.css';
import '../style/analytics.css';
import { useState } from 'preact/hooks';
import { ErrorBox } from '../components/error-box.tsx';
import type { MetricAnswer } from '../pages/analytics/metrics.ts';
import { RangeControls } from '../pages/analytics/range.tsx';
import { Charts, Rows, Totals, Warnings } from '../pages/analytics/shown.tsx';
import { usePlace } from '../router.ts';
import { useAnswer } from '../store.ts';
import { type ListedTool, useTool } from '../tools.ts';
import { askedFor, beginWith } from './chart-range.ts';
import { host } from './host/host.ts';
import { metricOf } from './metric-of.ts';
import { PeriodSteps } from './period-steps.tsx';
import { type Members, type ShownCall, start } from './start.tsx';

/** A metric: its totals, its charts with the numbers behind them, and other ranges. */
function ChartView({ tool, input, output: answer }: ShownCall<MetricAnswer>) {
  const listed = useTool(tool);
  if (!listed || !host.capabilities.serverTools) return <Metric tool={tool} answer={answer} />;
  return <AnyRange tool={listed} input={input} first={answer} />;
}

type AnyRangeProps = Readonly<{ tool: ListedTool; input: Members; first: MetricAnswer }>;

function AnyRange({ tool, input, first }: AnyRangeProps) {
  useState(() => beginWith(tool, input, first));
  const { query } = usePlace();
  const asked = askedFor(tool, input, query);
  const { data, error, loading } = useAnswer<MetricAnswer>(tool.name, asked);
  const takes = tool.inputSchema.properties ?? {};
  return (
    <>
      <Metric tool={tool.name} answer={data ?? first} busy={loading} />
      {error && <ErrorBox error={error} />}
      {takes.from && <RangeControls query={query} tool={tool} />}
      {takes.from && takes.compare && <PeriodSteps tool={tool.name} asked={asked} shown={data} query={query} />}
    </>
  );
}

type MetricProps = Readonly<{ tool: string | undefined; answer: MetricAnswer; busy?: boolean }>;

function Metric({ tool, answer, busy = false }: MetricProps) {
  const metric = metricOf(tool, answer, host.context.toolInfo?.tool?.title);
  const { previous: _, ...alone } = answer;
  // Beside the period before stand its numbers, which are asked for.
  const shown = { metric, answer: metric.tool !== '' && host.capabilities.serverTools ? answer : alone };
  return (
    <section class="metric" aria-label={metric.title} aria-busy={busy}>
      <header class="view-head">
        <h1>{metric.title}</h1>
        <p class="quiet">{rangeOf(answer)}</p>
      </header>
      <Warnings {...shown} />
      <Totals {...shown} />
      <Charts {...shown} />
      <Rows {...shown} />
    </section>
  );
}

/** The last day stands for the range up to the day after it. */
function rangeOf({ range: { from, to, interval } }: MetricAnswer): string {
  const last = new Date(Date.parse(to) - 24 * 60 * 60 * 1000).toISOString().slice(0, 10);
  return `${from} to ${last}${interval ? `, by ${interval}` : ''}`;
}

start(ChartView);
