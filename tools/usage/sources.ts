import type { AgentRun } from '../../resources/agent-run.ts';
import { HOUR_MS } from '../../resources/durations.ts';
import type { UsageSource } from '../../resources/usage.ts';
import type { AuditLog, Position, Reader } from '../../store/port.ts';
import { GROWTH, SMALLEST } from './histogram.ts';
import { isOwnRead, LABELS, labelsOfTally, TALLY_KEYS, UsageBuckets, type UsageGrouping } from './usage-buckets.ts';

const BATCH = 1000;
/** Nothing is older than this. */
const BEGINNING_MS = Date.UTC(2000);

/** From a time until just before another one, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Source {
  readonly name: UsageSource;
  /** How many there are. It may count no further than `upTo`. */
  count(span: Span, upTo?: number): Promise<number>;
  hours(span: Span): Promise<Map<number, UsageBuckets>>;
  /** The figures of each span by its begin, added up by the store. Absent if the store reads them one by one. */
  tally?(spans: readonly Span[], question: Question): Promise<Map<number, UsageBuckets>>;
  /** Whether nothing that began in the span can still change. */
  isOver(span: Span): Promise<boolean>;
}

export interface Question extends UsageGrouping {
  readonly isExact: boolean;
}

export interface Counted {
  readonly audit: Pick<AuditLog, 'find' | 'count' | 'tally'>;
  readonly agentRuns: Pick<Reader<AgentRun>, 'find' | 'count'>;
}

export function sourcesOf({ audit, agentRuns }: Counted): readonly Source[] {
  const { tally } = audit;
  const add = tally && ((spans: readonly Span[], question: Question) => tallyCalls(tally.bind(audit), spans, question));
  return [
    {
      name: 'calls',
      count: (span, upTo) => audit.count(texts(span), upTo),
      hours: (span) =>
        add
          ? add(hoursIn(span), { isExact: true })
          : byHour(
              (after) => audit.find({ ...texts(span), limit: BATCH, after }),
              ({ at }) => at,
              (cells, entry) => cells.addCall(entry),
            ),
      ...(add && { tally: add }),
      isOver: async () => true,
    },
    {
      name: 'runs',
      count: (span) => agentRuns.count(texts(span)),
      hours: (span) =>
        byHour(
          (after) => agentRuns.find({ ...texts(span), limit: BATCH, after }),
          ({ createdAt }) => createdAt,
          (cells, run) => cells.addRun(run),
        ),
      isOver: async (span) => (await agentRuns.count({ ...texts(span), where: { status: 'running' } })) === 0,
    },
  ];
}

/** The first hour of the span that has anything. It counts only in ever larger parts of the span, until one has something. */
export async function firstHour(source: Source, { from, to }: Span): Promise<number | undefined> {
  let low = hourOf(Math.max(from, BEGINNING_MS));
  let high = low;
  for (let size = HOUR_MS; ; size *= 2) {
    if (low >= to) return undefined;
    high = Math.min(low + size, to);
    if ((await source.count({ from: low, to: high })) > 0) break;
    low = high;
  }
  while (high - low > HOUR_MS) {
    const middle = hourOf(low + (high - low) / 2);
    if ((await source.count({ from: low, to: middle })) > 0) high = middle;
    else low = middle;
  }
  return low;
}

export function hoursIn({ from, to }: Span): Span[] {
  const hours: Span[] = [];
  for (let at = from; at < to; at += HOUR_MS) hours.push({ from: at, to: Math.min(at + HOUR_MS, to) });
  return hours;
}

export function hourOf(ms: number): number {
  return ms - (ms % HOUR_MS);
}

function texts({ from, to }: Span) {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

async function tallyCalls(
  tally: NonNullable<AuditLog['tally']>,
  spans: readonly Span[],
  { labels = LABELS, where = {}, ownReads, isExact }: Question,
): Promise<Map<number, UsageBuckets>> {
  // Whose call it was says whether it was a read of their own.
  const keys = (ownReads ? LABELS : labels).flatMap((label) => TALLY_KEYS[label] ?? []);
  const wanted = LABELS.flatMap((label) => {
    const key = TALLY_KEYS[label];
    return key && where[label] !== undefined ? [[key, where[label]]] : [];
  });
  const buckets = isExact ? undefined : { smallest: SMALLEST, growth: GROWTH };
  const found = await tally({ spans: spans.map(texts), by: keys, where: Object.fromEntries(wanted), buckets });
  const all = new Map<number, UsageBuckets>();
  for (const calls of found) {
    if (ownReads && isOwnRead(labelsOfTally(calls), ownReads)) continue;
    const begin = spans[calls.span]?.from ?? 0;
    const cells = all.get(begin) ?? new UsageBuckets();
    all.set(begin, cells);
    cells.addTally(calls, !isExact, labels);
  }
  return all;
}

async function byHour<Item>(
  page: (after: Position | undefined) => Promise<{ readonly records: readonly Item[]; readonly next: Position | null }>,
  at: (item: Item) => string,
  add: (cells: UsageBuckets, item: Item) => void,
): Promise<Map<number, UsageBuckets>> {
  const hours = new Map<number, UsageBuckets>();
  let after: Position | undefined;
  do {
    const { records, next } = await page(after);
    for (const item of records) {
      const hour = hourOf(Date.parse(at(item)));
      const cells = hours.get(hour) ?? new UsageBuckets();
      hours.set(hour, cells);
      add(cells, item);
    }
    after = next ?? undefined;
  } while (after);
  return hours;
}
