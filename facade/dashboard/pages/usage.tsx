import { number, pathOf, refs, setQuery, useAnswer, useMay, usePlace, useTool, wordOf } from '../app.ts';
import { Chart } from '../components/chart.tsx';
import { FilterChoice } from '../components/filters.tsx';
import { Empty, ErrorBox, Link, LinkButton, Mono, Segments, Skeleton, Table, Time } from '../ui.ts';
import { cost, type Numbers, periodOf, time, type UsageAnswer, type UsageRow } from './usage/numbers.ts';

/** What was used, by whom and at what cost. */
export function Page() {
  const mayBudget = useMay('list_budgets');
  return (
    <div class="page-body">
      <header class="page-head">
        <h1>Usage</h1>
        {mayBudget && (
          <span class="page-actions">
            <LinkButton text="Budgets" icon="gauge" to="/budgets" />
          </span>
        )}
      </header>
      <Figures />
    </div>
  );
}

const HOUR_MS = 60 * 60 * 1000;
/** Ranges in days, each with the interval that suits it. */
const SPANS = [
  { value: '2', label: '2 days', interval: 'hour' },
  { value: '', label: '30 days', interval: 'day' },
  { value: '84', label: '12 weeks', interval: 'week' },
  { value: '365', label: 'Year', interval: 'month' },
] as const;

/** Calls, latency, tokens and cost over time, and by what the address says. */
export function Figures() {
  const { query } = usePlace();
  const tool = useTool('get_usage');
  const groupings = (tool?.inputSchema.properties?.by?.enum ?? []).map(String);
  const by = groupings.find((one) => one === query.get('by')) ?? 'agent';
  const span = SPANS.find(({ value }) => value === query.get('span')) ?? SPANS[1];
  const { data, error } = useAnswer<UsageAnswer>(tool && 'get_usage', inputOf(by, span));
  return (
    <div class="metric">
      <div class="range-controls">
        <FilterChoice
          name="by"
          label="By agent"
          options={groupings.filter((one) => one !== 'agent').map((value) => ({ value, label: `By ${value}` }))}
        />
        <Segments label="Range" value={span.value} options={SPANS} onChange={(value) => setQuery({ span: value })} />
      </div>
      {error && <ErrorBox error={error} />}
      {!data && !error && <Skeleton lines={8} />}
      {data && <Shown answer={data} />}
    </div>
  );
}

/** The same for an hour, so that an answer that is there is not asked for again. */
function inputOf(by: string, { value, interval }: (typeof SPANS)[number]): object {
  const from = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - Number(value || 30) * 24 * HOUR_MS;
  return { by, interval, from: new Date(from).toISOString(), limit: 100 };
}

function Shown({ answer }: { readonly answer: UsageAnswer }) {
  const { rows, totals, unpriced, by, nextCursor } = answer;
  const maySet = useMay('update_settings');
  return (
    <>
      <Totals answer={answer} />
      {unpriced.length > 0 && (
        <div class="section-head">
          <p class="note warn">
            The cost is unknown, because no price is given for {unpriced.slice(0, 5).join(', ')}
            {unpriced.length > 5 && ` and ${unpriced.length - 5} more`}.
          </p>
          {maySet && <LinkButton text="Give prices" to="/settings" />}
        </div>
      )}
      <Charts answer={answer} />
      {rows.length > 0 ? (
        <Table label={`Usage by ${by}`} columns={columnsOf(answer)} rows={rows} keyOf={({ key }) => key} />
      ) : (
        <Empty title={totals.calls > 0 ? `Nothing was used by any ${by}` : 'Nothing was used in this range'}>
          Group by something else, or pick a longer range.
        </Empty>
      )}
      {nextCursor !== null && <p class="quiet">The {rows.length} that were used most.</p>}
      <details class="definition">
        <summary>
          How it is counted{' '}
          <span class="faint">
            {answer.range.timezone}, as of <Time at={answer.asOf} />
          </span>
        </summary>
        <p class="quiet">{answer.definition}</p>
      </details>
    </>
  );
}

function Totals({ answer: { totals, currency, by } }: { readonly answer: UsageAnswer }) {
  const shown = [
    [by === 'model' ? 'Turns' : 'Calls', number(totals.calls)],
    [by === 'model' ? 'Failed runs' : 'Errors', number(totals.errors)],
    ['Median time', time(totals.p50Ms)],
    ['p95', time(totals.p95Ms)],
    ['Input tokens', number(totals.inputTokens)],
    ['Output tokens', number(totals.outputTokens)],
    ['Cost', cost(totals.cost, currency)],
  ] as const;
  return (
    <dl class="headlines many">
      {shown.map(([title, value]) => (
        <div key={title} class="headline">
          <dt class="headline-title">{title}</dt>
          <dd class="headline-number">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Charts({ answer }: { readonly answer: UsageAnswer }) {
  const { series, currency, by } = answer;
  const labels = series.map(({ from }) => periodOf(from, answer));
  const line = (label: string, pick: (numbers: Numbers) => number | null) => ({ label, values: series.map(pick) });
  const charts = [
    {
      title: by === 'model' ? 'Turns' : 'Calls',
      series: [line(by === 'model' ? 'Turns' : 'Calls', ({ calls }) => calls), line('Errors', ({ errors }) => errors)],
      format: (value: number) => number(value),
    },
    {
      title: 'Tokens',
      series: [line('Input', ({ inputTokens }) => inputTokens), line('Output', ({ outputTokens }) => outputTokens)],
      format: (value: number) => number(value),
    },
    {
      title: 'Cost',
      series: [{ ...line('Cost', (numbers) => numbers.cost), filled: true }],
      format: (value: number) => cost(value, currency),
    },
  ];
  return (
    <>
      {charts.map((chart) => (
        <section key={chart.title} class="card card-chart">
          <Chart {...chart} labels={labels} height={160} />
        </section>
      ))}
    </>
  );
}

function columnsOf({ by, currency }: UsageAnswer) {
  const isModel = by === 'model';
  return [
    { title: wordOf(by), cell: (row: UsageRow) => <Subject row={row} by={by} /> },
    { title: isModel ? 'Turns' : 'Calls', cell: ({ calls }: UsageRow) => number(calls), end: true },
    {
      title: isModel ? 'Failed runs' : 'Errors',
      cell: ({ errors }: UsageRow) => number(errors),
      end: true,
      spare: 1 as const,
    },
    { title: 'Median', cell: ({ p50Ms }: UsageRow) => time(p50Ms), end: true, spare: 2 as const },
    { title: 'p95', cell: ({ p95Ms }: UsageRow) => time(p95Ms), end: true, spare: 2 as const },
    {
      title: 'Tokens',
      cell: ({ inputTokens, outputTokens }: UsageRow) => number(inputTokens + outputTokens),
      end: true,
      spare: 1 as const,
    },
    { title: 'Cost', cell: (row: UsageRow) => cost(row.cost, currency), end: true },
  ];
}

const PAGES: Readonly<Record<string, string>> = { key: 'key', capsule: 'capsule', user: 'admin-user', flow: 'flow' };

/** What a row is about, leading to its page if there is one. */
function Subject({ row: { key, name }, by }: { readonly row: UsageRow; readonly by: string }) {
  const path =
    pathOf(key) ?? (PAGES[by] && refs[PAGES[by]]?.path && `${refs[PAGES[by]]?.path}/${encodeURIComponent(key)}`);
  const shown = name ?? <Mono>{key}</Mono>;
  return path === undefined ? <span>{shown}</span> : <Link to={path}>{shown}</Link>;
}
