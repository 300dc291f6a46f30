import 'uplot/dist/uPlot.min.css';
import '../style/headlines.css';
import '../style/analytics.css';
import { useState } from 'preact/hooks';
import { call } from '../client.ts';
import { Button } from '../components/button.tsx';
import { ErrorBox } from '../components/error-box.tsx';
import { wordOf } from '../format.ts';
import type { MetricAnswer } from '../pages/analytics/metrics.ts';
import { inputOf, RangeControls } from '../pages/analytics/range.tsx';
import { Charts, Rows, Totals } from '../pages/analytics/shown.tsx';
import { Warnings } from '../pages/analytics/warnings.tsx';
import { setQuery, usePlace } from '../router.ts';
import { keepAnswer, useAnswer } from '../store.ts';
import { type ListedTool, useTool } from '../tools.ts';
import { host } from './host/host.ts';
import { beginAt } from './host/router.ts';
import { metricOf } from './metric-of.ts';
import { type ShownCall, start } from './start.tsx';

type Members = Readonly<Record<string, unknown>>;

interface Answer extends MetricAnswer {
  readonly previous?: { readonly from: string; readonly to: string };
}

/** A metric: its charts, the numbers behind them, and other ranges. */
function ChartView({ tool, input, output }: ShownCall) {
  const listed = useTool(tool);
  const answer = output as unknown as Answer; // as every metric answers
  return tool !== undefined && listed && host.capabilities.serverTools ? (
    <AnyRange tool={listed} input={input} first={answer} />
  ) : (
    <Metric tool={tool} answer={answer} />
  );
}

interface AnyRangeProps {
  readonly tool: ListedTool;
  readonly input: Members;
  readonly first: Answer;
}

function AnyRange({ tool, input, first }: AnyRangeProps) {
  useState(() => begin(tool, input, first));
  const { query } = usePlace();
  const { data, error, loading } = useAnswer<Answer>(tool.name, askedFor(tool, input, query));
  return (
    <>
      <Metric tool={tool.name} answer={data ?? first} busy={loading} />
      {error && <ErrorBox error={error} />}
      <RangeControls query={query} tool={tool} />
      <Steps key={tool.name} tool={tool} asked={askedFor(tool, input, query)} shown={data} query={query} />
    </>
  );
}

/** The answer that is shown first is that of the range of its call. */
function begin(tool: ListedTool, input: Members, first: Answer): void {
  const { from, to, interval } = input as Readonly<Record<string, string | undefined>>; // dates and a word
  beginAt('/analytics', { metric: tool.name, span: (from ?? to) && 'own', from, to, interval });
  const query = new URLSearchParams(
    Object.entries({ span: (from ?? to) ? 'own' : '', from: from ?? '', to: to ?? '', interval: interval ?? '' }),
  );
  keepAnswer(tool.name, askedFor(tool, input, query), first);
}

/** With the period before, so that one call is enough for a step back. */
function askedFor(tool: ListedTool, input: Members, query: URLSearchParams): Members {
  const { from: _, to: __, ...rest } = input;
  const takes = tool.inputSchema.properties ?? {};
  return {
    ...rest,
    ...('interval' in takes && { interval: undefined }),
    ...inputOf(query, tool),
    ...('compare' in takes && { compare: 'previous' }),
  };
}

interface StepsProps {
  readonly tool: ListedTool;
  readonly asked: Members;
  readonly shown: Answer | undefined;
  readonly query: URLSearchParams;
}

/** One period back, and forward again. */
function Steps({ tool, asked, shown, query }: StepsProps) {
  const [taken, setTaken] = useState<readonly { readonly to: string; readonly from: string }[]>([]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const last = taken.at(-1);
  const here = query.toString();
  if (!('compare' in (tool.inputSchema.properties ?? {}))) return null;
  const back = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const { previous } = shown?.previous ? shown : await call<Answer>(tool.name, asked);
      if (!previous) return;
      const next = new URLSearchParams(query);
      for (const [name, value] of Object.entries({ span: 'own', from: previous.from, to: previous.to }))
        next.set(name, value);
      setTaken([...(last?.to === here ? taken : []), { from: here, to: next.toString() }]);
      show(next);
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const forward = () => {
    setTaken(taken.slice(0, -1));
    show(new URLSearchParams(last?.from));
  };
  return (
    <div class="actions">
      <Button icon="back" busy={busy} onClick={back}>
        Previous period
      </Button>
      {last?.to === here && (
        <Button icon="next" onClick={forward}>
          Next
        </Button>
      )}
      {error !== undefined && <ErrorBox error={error} />}
    </div>
  );
}

function show(query: URLSearchParams): void {
  setQuery({
    span: query.get('span') ?? undefined,
    from: query.get('from') ?? undefined,
    to: query.get('to') ?? undefined,
  });
}

function Metric({
  tool,
  answer,
  busy = false,
}: {
  readonly tool: string | undefined;
  readonly answer: Answer;
  readonly busy?: boolean;
}) {
  const metric = metricOf(tool, answer, host.context.toolInfo?.tool?.title);
  const { range } = answer;
  return (
    <section class="metric" aria-label={metric.title} aria-busy={busy}>
      <header class="view-head">
        <h1>{metric.title}</h1>
        <p class="quiet">
          {range.from} to {range.to}
          {range.interval && `, by ${wordOf(range.interval).toLowerCase()}`}
        </p>
      </header>
      <Warnings answer={answer} />
      <Totals metric={metric} answer={answer} />
      <Charts metric={metric} answer={answer} />
      <Rows metric={metric} answer={answer} />
    </section>
  );
}

start(ChartView);
