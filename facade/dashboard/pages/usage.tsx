import { HOUR_MS } from '../../../resources/durations.ts';
import { number, pathOf, refs, setQuery, useAnswer, useLocation, useTool, wordOf } from '../app.ts';
import { Chart } from '../components/chart.tsx';
import { FilterChoice } from '../components/filters.tsx';
import {
  type Column,
  Empty,
  ErrorBox,
  LinkButton,
  NamedRef,
  PageBody,
  Segments,
  Skeleton,
  Table,
  Time,
} from '../ui.ts';
import { useWatching } from '../use-polling.ts';
import { Tile } from './analytics/shown.tsx';
import { cost, type Numbers, partsOf, periodOf, time, type UsageAnswer, type UsageRow } from './usage/numbers.ts';

export function Page() {
  const budgets = <LinkButton needs="list_budgets" text="Budgets" icon="gauge" to="/budgets" />;
  return (
    <PageBody title="Usage" actions={budgets}>
      <Figures />
    </PageBody>
  );
}

/** Ranges in days, each with the interval that suits it. */
const SPANS = [
  { value: '2', label: '2 days', interval: 'hour' },
  { value: '', label: '30 days', interval: 'day' },
  { value: '84', label: '12 weeks', interval: 'week' },
  { value: '365', label: 'Year', interval: 'month' },
] as const;

function Figures() {
  const { query } = useLocation();
  const tool = useTool('get_usage');
  const groupings = (tool?.inputSchema.properties?.by?.enum ?? []).map(String);
  const by = groupings.find((one) => one === query.get('by')) ?? 'agent';
  const span = SPANS.find(({ value }) => value === query.get('span')) ?? SPANS[1];
  useWatching();
  const ownReads = query.get('dashboardReads') === 'true';
  const { data, error } = useAnswer<UsageAnswer>(tool && 'get_usage', {
    ...inputOf(by, span),
    ...(!ownReads && { dashboardReads: false }),
  });
  return (
    <div class="metric">
      <div class="range-controls">
        <FilterChoice
          name="by"
          label="By agent"
          options={groupings.filter((one) => one !== 'agent').map((value) => ({ value, label: `By ${value}` }))}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={!ownReads}
            onChange={({ currentTarget }) => setQuery({ dashboardReads: currentTarget.checked ? '' : 'true' })}
          />
          Without the dashboard’s own reads
        </label>
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
  return (
    <>
      <Totals answer={answer} />
      {unpriced.length > 0 && (
        <div class="section-head">
          <p class="note warn">
            The cost is unknown, because no price is given for {unpriced.slice(0, 5).join(', ')}
            {unpriced.length > 5 && ` and ${unpriced.length - 5} more`}.
          </p>
          <LinkButton needs="update_settings" text="Give prices" to="/settings?tab=money" />
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

/** By model, turns and runs are counted. */
const CALLS = { model: ['Turns', 'Failed runs'], caller: ['Calls', 'Errors'] } as const;

function Totals({ answer: { totals, currency, by } }: { readonly answer: UsageAnswer }) {
  const [calls, errors] = CALLS[by === 'model' ? 'model' : 'caller'];
  const parts = partsOf(totals);
  const shown = [
    [calls, number(totals.calls)],
    [errors, number(totals.errors)],
    ['Median time', time(totals.p50Ms)],
    ['p95', time(totals.p95Ms)],
    ['Input tokens', number(totals.inputTokens), parts.input],
    ['Output tokens', number(totals.outputTokens), parts.output],
    ['Cost', cost(totals.cost, currency)],
  ] as const;
  return (
    <dl class="headlines many">
      {shown.map(([title, value, more]) => (
        <Tile key={title} title={title} value={value}>
          {more && <dd class="headline-growth">{more}</dd>}
        </Tile>
      ))}
    </dl>
  );
}

function Charts({ answer }: { readonly answer: UsageAnswer }) {
  const { series, currency, by } = answer;
  const labels = series.map(({ from }) => periodOf(from, answer));
  const line = (label: string, pick: (numbers: Numbers) => number | null) => ({ label, values: series.map(pick) });
  const [title] = CALLS[by === 'model' ? 'model' : 'caller'];
  const charts = [
    {
      title,
      series: [line(title, ({ calls }) => calls), line('Errors', ({ errors }) => errors)],
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

function columnsOf({ by, currency }: UsageAnswer): readonly Column<UsageRow>[] {
  const [calls, errors] = CALLS[by === 'model' ? 'model' : 'caller'];
  return [
    { title: wordOf(by), cell: (row) => <Subject row={row} by={by} /> },
    { title: calls, cell: (row) => number(row.calls), alignEnd: true },
    { title: errors, cell: (row) => number(row.errors), alignEnd: true, hidePriority: 1 },
    { title: 'Median', cell: ({ p50Ms }) => time(p50Ms), alignEnd: true, hidePriority: 2 },
    { title: 'p95', cell: ({ p95Ms }) => time(p95Ms), alignEnd: true, hidePriority: 2 },
    { title: 'Tokens', cell: (row) => number(row.inputTokens + row.outputTokens), alignEnd: true, hidePriority: 1 },
    { title: 'Cost', cell: (row) => cost(row.cost, currency), alignEnd: true },
  ];
}

const PAGES: Readonly<Record<string, string>> = { key: 'key', capsule: 'capsule', user: 'admin-user', flow: 'flow' };

function Subject({ row: { key, name }, by }: { readonly row: UsageRow; readonly by: string }) {
  const page = refs[PAGES[by] ?? '']?.path;
  return <NamedRef id={key} name={name} path={pathOf(key) ?? (page && `${page}/${encodeURIComponent(key)}`)} />;
}
