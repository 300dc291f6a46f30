import { type ListedTool, setQuery, wordOf } from '../../app.ts';
import { Segments } from '../../ui.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const SPANS = [
  { value: '', label: 'Default' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'Year' },
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

export function RangeControls({ query, tool }: Readonly<{ query: URLSearchParams; tool: ListedTool | undefined }>) {
  const span = SPANS.find(({ value }) => value === query.get('span'))?.value ?? '';
  const intervals = intervalsOf(tool);
  return (
    <div class="range-controls">
      <Segments label="Range" value={span} options={SPANS} onChange={(value) => setQuery({ span: value })} />
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
          options={[{ value: '', label: 'Auto' }, ...intervals.map((value) => ({ value, label: wordOf(value) }))]}
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
