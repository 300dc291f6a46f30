import { useRef } from 'preact/hooks';
import { DAY_MS } from '../../../../resources/durations.ts';
import { counted, type ListedTool, setQuery, wordOf } from '../../app.ts';
import { Segments } from '../../ui.ts';
import type { MetricAnswer } from './metrics.ts';

const SPANS = [
  { value: '', label: 'Default' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '365 days' },
  { value: 'own', label: 'Dates' },
] as const;

/** The input of a metric from the address: the range, the interval where the metric has one, and always the period before. */
export function inputOf(query: URLSearchParams, tool: ListedTool | undefined): Readonly<Record<string, string>> {
  const span = query.get('span') ?? '';
  const [from, to] =
    span === 'own'
      ? [query.get('from'), query.get('to')]
      : [/^\d+$/.test(span) ? dateOf(Date.now() - (Number(span) - 1) * DAY_MS) : null, null];
  const interval = intervalsOf(tool).includes(query.get('interval') ?? '') ? query.get('interval') : null;
  const given = Object.entries({ from, to, interval }).filter(([, value]) => value !== null && value !== '');
  return { ...(Object.fromEntries(given) as Record<string, string>), compare: 'previous' }; // what is null was left out
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function intervalsOf(tool: ListedTool | undefined): readonly string[] {
  return (tool?.inputSchema.properties?.interval?.enum ?? []).map(String);
}

interface RangeControlsProps {
  readonly query: URLSearchParams;
  readonly tool: ListedTool | undefined;
  /** Of the answer. */
  readonly range: MetricAnswer['range'] | undefined;
}

/** What the choices that leave it to the server come to, as its answers say; once known, also while others are chosen. */
function useUsual(query: URLSearchParams, range: MetricAnswer['range'] | undefined) {
  const span = useRef<string | undefined>(undefined);
  const interval = useRef<string | undefined>(undefined);
  if (range && !query.get('span')) span.current = spanWords(range);
  if (range && !query.get('interval')) interval.current = range.interval;
  return {
    span: span.current ?? 'Default',
    interval: interval.current === undefined ? 'Auto' : `Auto: ${wordOf(interval.current).toLowerCase()}`,
  };
}

const DAYS_OF_A_MONTH = 365.25 / 12;
const MOST_DAYS = 100;

function spanWords({ from, to }: MetricAnswer['range']): string {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
  return days <= MOST_DAYS ? counted(days, 'day') : counted(Math.round(days / DAYS_OF_A_MONTH), 'month');
}

export function RangeControls({ query, tool, range }: RangeControlsProps) {
  const span = SPANS.find(({ value }) => value === query.get('span'))?.value ?? '';
  const intervals = intervalsOf(tool);
  const usual = useUsual(query, range);
  const spans = SPANS.map((one) => (one.value === '' ? { ...one, label: usual.span } : one));
  return (
    <div class="range-controls">
      <Segments label="Range" value={span} options={spans} onChange={(value) => setQuery({ span: value })} />
      {span === 'own' && (
        <>
          <DateField label="From" name="from" value={query.get('from') ?? ''} />
          <DateField label="Up to" name="to" value={query.get('to') ?? ''} shift={1} />
        </>
      )}
      {intervals.length > 0 && (
        <Segments
          label="Interval"
          value={query.get('interval') ?? ''}
          options={[
            { value: '', label: usual.interval },
            ...intervals.map((value) => ({ value, label: wordOf(value) })),
          ]}
          onChange={(value) => setQuery({ interval: value })}
        />
      )}
    </div>
  );
}

/** The date stands in the address `shift` days later. */
type DateFieldProps = Readonly<{ label: string; name: string; value: string; shift?: number }>;

function DateField({ label, name, value, shift = 0 }: DateFieldProps) {
  return (
    <input
      class="input"
      type="date"
      aria-label={label}
      title={label}
      value={shifted(value, -shift)}
      onChange={({ currentTarget }) => setQuery({ [name]: shifted(currentTarget.value, shift) })}
    />
  );
}

/** The range ends before `to`; people name its last day. */
function shifted(date: string, days: number): string {
  const time = Date.parse(date);
  return Number.isNaN(time) ? '' : dateOf(time + days * DAY_MS);
}
