import type { AgentRun } from '../../resources/agent-run.ts';
import type { UsageSource } from '../../resources/usage.ts';
import type { AuditLog, Position, Reader } from '../../store/port.ts';
import { Cells } from './cells.ts';

const HOUR_MS = 3_600_000;
/** Entries or runs that are read at a time. */
const BATCH = 1000;
/** Nothing is older than this. */
const BEGINNING_MS = Date.UTC(2000);

/** From a time until just before another one, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What usage is counted from. */
export interface Source {
  readonly name: UsageSource;
  /** How many there are. */
  count(span: Span): Promise<number>;
  /** The figures, by the hour in which each call or run began. */
  hours(span: Span): Promise<Map<number, Cells>>;
  /** Whether nothing that began in the span can still change. */
  isOver(span: Span): Promise<boolean>;
}

export interface Counted {
  readonly audit: Pick<AuditLog, 'find' | 'count'>;
  readonly agentRuns: Pick<Reader<AgentRun>, 'find' | 'count'>;
}

export function sourcesOf({ audit, agentRuns }: Counted): readonly Source[] {
  return [
    {
      name: 'calls',
      count: (span) => audit.count(texts(span)),
      hours: (span) =>
        byHour(
          (after) => audit.find({ ...texts(span), limit: BATCH, after }),
          ({ at }) => at,
          (cells, entry) => cells.addCall(entry),
        ),
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

export function hourOf(ms: number): number {
  return ms - (ms % HOUR_MS);
}

function texts({ from, to }: Span) {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

async function byHour<Item>(
  page: (after: Position | undefined) => Promise<{ readonly records: readonly Item[]; readonly next: Position | null }>,
  at: (item: Item) => string,
  add: (cells: Cells, item: Item) => void,
): Promise<Map<number, Cells>> {
  const hours = new Map<number, Cells>();
  let after: Position | undefined;
  do {
    const { records, next } = await page(after);
    for (const item of records) {
      const hour = hourOf(Date.parse(at(item)));
      const cells = hours.get(hour) ?? new Cells();
      hours.set(hour, cells);
      add(cells, item);
    }
    after = next ?? undefined;
  } while (after);
  return hours;
}
