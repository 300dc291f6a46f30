import { useEffect, useRef } from 'preact/hooks';
import { csvOf } from '../../../resources/csv.ts';
import { at, text, useAnswer, useLocation, useMay, useTool, useTools } from '../app.ts';
import { download } from '../download.ts';
import { Button, Empty, ErrorBox, Link, LinkButton, PageHead, Skeleton, Time } from '../ui.ts';
import { METRICS, type Metric, type MetricAnswer } from './analytics/metrics.ts';
import { inputOf, RangeControls } from './analytics/range.tsx';
import { Charts, Rows, Totals, Warnings } from './analytics/shown.tsx';

export function Page() {
  const { query, parts } = useLocation();
  const tools = useTools();
  const known = METRICS.filter(({ tool }) => tools?.has(tool));
  const metric = known.find(({ tool }) => tool === query.get('metric')) ?? known[0];
  if (parts.length > 1) {
    return (
      <Empty title={text.notFound} action={<LinkButton text="Analytics" to="/analytics" />}>
        {text.notFoundHint}
      </Empty>
    );
  }
  return (
    <div class="page-body analytics">
      <MetricList known={known} open={metric?.tool} query={query} />
      {metric ? <OneMetric key={metric.tool} metric={metric} query={query} /> : <Skeleton lines={6} />}
    </div>
  );
}

type MetricListProps = Readonly<{ known: readonly Metric[]; open: string | undefined; query: URLSearchParams }>;

function MetricList({ known, open, query }: MetricListProps) {
  const groups = [...new Set(known.map(({ group }) => group))];
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const picked = list.current?.querySelector('[aria-current]');
    picked?.scrollIntoView({ block: 'nearest', inline: 'center' }); // on a phone the metrics stand in one long line
  }, [open]);
  return (
    <nav class="metric-list" aria-label="Metrics" ref={list}>
      {groups.map((group) => (
        <div key={group} class="metric-group">
          <h2 class="nav-title">{group}</h2>
          {known
            .filter((metric) => metric.group === group)
            .map(({ tool, title }) => (
              <a
                key={tool}
                class="nav-link"
                href={at(`/analytics?${new URLSearchParams({ ...Object.fromEntries(query), metric: tool })}`)}
                aria-current={tool === open ? 'page' : undefined}
              >
                {title}
              </a>
            ))}
        </div>
      ))}
    </nav>
  );
}

function OneMetric({ metric, query }: { readonly metric: Metric; readonly query: URLSearchParams }) {
  const tool = useTool(metric.tool);
  const { data, error, loading } = useAnswer<MetricAnswer>(metric.tool, inputOf(query, tool));
  return (
    <section class="metric" aria-label={metric.title} aria-busy={loading && !data}>
      <PageHead title={metric.title}>
        {data && (
          <Button text="CSV" icon="download" onClick={() => download(`${metric.tool.slice(4)}.csv`, asCsv(data))} />
        )}
      </PageHead>
      <RangeControls query={query} tool={tool} range={data?.range} />
      {error && <ErrorBox error={error} />}
      {!data && !error && <Skeleton lines={8} />}
      {data && (
        <>
          <Warnings answer={data} />
          {isNothing(data.totals) && isNothing(data.previous?.totals) ? (
            <NoData />
          ) : (
            <>
              <Totals metric={metric} answer={data} />
              <Charts metric={metric} answer={data} />
              <Rows metric={metric} answer={data} />
            </>
          )}
          <Definition {...data} />
        </>
      )}
    </section>
  );
}

function asCsv({ series = [], rows = [] }: MetricAnswer): string {
  return [series, rows]
    .filter(({ length }) => length > 0)
    .map(csvOf)
    .join('\r\n');
}

function isNothing(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.values(value).every(isNothing) : !value;
}

function NoData() {
  const may = useMay('import_records');
  return (
    <Empty title="There is nothing to count in this range" action={may && <Link to="/import">Import data</Link>}>
      Numbers come from imported users, subscriptions, events and visits.
    </Empty>
  );
}

function Definition({ definition, asOf, range }: MetricAnswer) {
  return (
    <details class="definition">
      <summary>
        How it is computed{' '}
        <span class="faint">
          {range.from} to {range.to}, {range.timezone}, as of <Time at={asOf} />
        </span>
      </summary>
      <p class="quiet">{definition}</p>
    </details>
  );
}
