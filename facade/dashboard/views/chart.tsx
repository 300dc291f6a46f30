import { DAY_MS } from '../../../resources/durations.ts';
import 'uplot/dist/uPlot.min.css';
import '../style/headlines.css';
import '../style/analytics.css';
import { useState } from 'preact/hooks';
import { keepAnswer, useAnswer } from '../answer-cache.ts';
import { call } from '../client.ts';
import { useAction } from '../components/action.tsx';
import { Button } from '../components/button.tsx';
import { ErrorBox } from '../components/error-box.tsx';
import { labelOf } from '../format.ts';
import { METRICS, type Metric, type MetricAnswer } from '../pages/analytics/metrics.ts';
import { inputOf, RangeControls } from '../pages/analytics/range.tsx';
import { Charts, Rows, Totals, Warnings } from '../pages/analytics/shown.tsx';
import { setQuery, useLocation } from '../router.ts';
import { type ListedTool, useTool } from '../tools.ts';
import { beginAt, host } from './host.ts';
import { type Members, type ShownCall, start } from './start.tsx';

/** A metric: its totals, its charts with the numbers behind them, and other ranges. */
function ChartView({ tool, input, output: answer }: ShownCall<MetricAnswer>) {
  const listed = useTool(tool);
  if (!listed || !host.capabilities.serverTools) return <MetricSection tool={tool} answer={answer} />;
  return <AnyRange tool={listed} input={input} first={answer} />;
}

type AnyRangeProps = Readonly<{ tool: ListedTool; input: Members; first: MetricAnswer }>;

function AnyRange({ tool, input, first }: AnyRangeProps) {
  useState(() => beginWith(tool, input, first));
  const { query } = useLocation();
  const asked = askedFor(tool, input, query);
  const { data, error, loading } = useAnswer<MetricAnswer>(tool.name, asked);
  const takes = tool.inputSchema.properties ?? {};
  return (
    <>
      <MetricSection tool={tool.name} answer={data ?? first} busy={loading} />
      {error && <ErrorBox error={error} />}
      {takes.from && <RangeControls query={query} tool={tool} range={data?.range} />}
      {takes.from && takes.compare && <PeriodSteps tool={tool.name} asked={asked} shown={data} query={query} />}
    </>
  );
}

type MetricProps = Readonly<{ tool: string | undefined; answer: MetricAnswer; busy?: boolean }>;

function MetricSection({ tool, answer, busy = false }: MetricProps) {
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
  const last = new Date(Date.parse(to) - DAY_MS).toISOString().slice(0, 10);
  return `${from} to ${last}${interval ? `, by ${interval}` : ''}`;
}

/** The input for the chosen range, with what else the first call was given. Members that the tool does not take are left out. */
function askedFor(tool: ListedTool, first: Members, query: URLSearchParams): Members {
  const { from: _, to: __, interval: ___, ...others } = first;
  const asked = Object.entries({ ...others, ...inputOf(query, tool) });
  return Object.fromEntries(asked.filter(([name]) => name in (tool.inputSchema.properties ?? {})));
}

/** Begins with the range of the first call, whose answer is there. */
function beginWith(tool: ListedTool, input: Members, answer: MetricAnswer): void {
  const { from, to, interval } = input as Readonly<Partial<Record<string, string>>>; // dates and a word
  const given = { metric: tool.name, span: (from ?? to) && 'own', from, to, interval };
  const query = beginAt('/analytics', given);
  keepAnswer(tool.name, askedFor(tool, input, query), answer);
}

const MOST_MEMBERS = 5;

/** How to show the answer: as the dashboard does, or for a metric that it does not know, with the first of its numbers in one chart. */
function metricOf(tool: string | undefined, { series = [] }: MetricAnswer, title?: string): Metric {
  const [first = {}] = series;
  const numbers = Object.keys(first).filter((member) => typeof first[member] === 'number');
  const known = METRICS.find((metric) => (tool === undefined ? draws(metric, numbers) : metric.tool === tool));
  if (known) return known;
  const named = title ?? (tool === undefined ? 'Metric' : labelOf(tool));
  return {
    tool: tool ?? '',
    title: named,
    group: 'Overview',
    ...(numbers.length > 0 && { charts: [{ title: named, members: numbers.slice(0, MOST_MEMBERS) }] }),
  };
}

function draws({ charts = [] }: Metric, numbers: readonly string[]): boolean {
  return charts.length > 0 && charts.every(({ members }) => members.every((member) => numbers.includes(member)));
}

interface StepsProps {
  readonly tool: string;
  /** The input of what is shown. */
  readonly asked: object;
  readonly shown: MetricAnswer | undefined;
  readonly query: URLSearchParams;
}

type Range = Readonly<Record<'span' | 'from' | 'to', string | undefined>>;

interface Step {
  readonly before: Range;
  /** What stood in the query after the step. */
  readonly after: string;
}

/** One period back, as the server counts periods, and forward again. */
function PeriodSteps({ tool, asked, shown, query }: StepsProps) {
  const [steps, setSteps] = useState<readonly Step[]>([]);
  const { busy, error, run } = useAction();
  const last = steps.at(-1);
  const canReturn = last?.after === rangeText(rangeIn(query));
  const back = async () => {
    const { previous } = shown?.previous ? shown : await call<MetricAnswer>(tool, asked);
    if (!previous) return;
    const next = { span: 'own', from: previous.from, to: previous.to };
    setSteps([...(canReturn ? steps : []), { before: rangeIn(query), after: rangeText(next) }]);
    setQuery(next);
  };
  const forward = () => {
    setSteps(steps.slice(0, -1));
    if (last) setQuery(last.before);
  };
  return (
    <>
      <div class="actions">
        <Button text="Previous period" icon="back" busy={busy} onClick={() => void run(back)} />
        {canReturn && <Button text="Next period" icon="next" onClick={forward} />}
      </div>
      {error !== undefined && <ErrorBox error={error} />}
    </>
  );
}

function rangeIn(query: URLSearchParams): Range {
  const [span, from, to] = ['span', 'from', 'to'].map((name) => query.get(name) ?? undefined);
  return { span, from, to };
}

function rangeText({ span, from, to }: Range): string {
  return [span, from, to].join(' ');
}

start(ChartView);
