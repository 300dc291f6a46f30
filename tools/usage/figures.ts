import { setImmediate } from 'node:timers/promises';
import { HOUR_MS, MINUTE_MS } from '../../resources/durations.ts';
import type { UsageHour, UsageSource } from '../../resources/usage.ts';
import type { Readers } from '../../store/port.ts';
import { storedHours } from './roll-ups.ts';
import { type Counted, firstHour, hoursIn, type Question, type Source, type Span, sourcesOf } from './sources.ts';
import { EMBEDDINGS, type Label, UsageBuckets } from './usage-buckets.ts';

/** So many entries or runs are counted anew for each question. */
export const MOST_COUNTED = 20_000;
/** Parts whose counts are kept, so that only what came since is counted again. */
const PART_MS = 5 * MINUTE_MS;
/** What is older than this is kept in parts of an hour. */
const RECENT_MS = 6 * HOUR_MS;
const MOST_PARTS = 400;
const AT_ONCE = 50;

/** The figures of one hour, or of a part of it. Calls that the store adds up come by the periods of the question. */
export interface HourOfUsage {
  readonly source: UsageSource;
  readonly hour: number;
  readonly cells: UsageBuckets;
  /** Where given, they count for these alone: what the store adds up does not tell the calls of rows apart by periods. */
  readonly of?: 'periods' | 'rows';
}

/** The question. Narrower questions are answered faster; an answer may be more detailed than asked. */
export interface UsageQuestion extends Omit<Question, 'isExact'> {
  readonly onlyRuns?: boolean;
  readonly periods?: readonly Span[];
  readonly periodLabels?: readonly Label[];
}

export interface Figures extends Counted, Pick<Readers, 'usageHours'> {}

/** Figures of whole hours. A few calls and runs are counted one by one; where there are more, or some were deleted, kept hours count. */
export async function* usageIn(
  figures: Figures,
  span: Span,
  question: UsageQuestion = {},
  mostCounted = MOST_COUNTED,
): AsyncGenerator<HourOfUsage, void> {
  for (const source of sourcesOf(figures)) {
    if (source.name === 'calls' && question.onlyRuns) continue;
    const kept: UsageHour[] = [];
    for await (const hour of storedHours(figures, source, span)) kept.push(hour);
    if (await isFew(source, span, kept, mostCounted)) {
      yield* source.tally ? tallied(source, [span], question, true) : withoutReads(counted(source, span), question);
      continue;
    }
    for (const [at, hour] of kept.entries()) {
      if (at % AT_ONCE === 0) await setImmediate();
      yield { source: source.name, hour: Date.parse(hour.createdAt), cells: UsageBuckets.unpack(hour.cells, question) };
    }
    const gaps = gapsIn(span, kept);
    if (source.tally) yield* tallied(source, gaps, question, false);
    else
      for (const gap of gaps) {
        const parts = countedInParts(figures, source, { gap, mostAtOnce: mostCounted / 10 });
        yield* withoutReads(parts, question);
      }
  }
  for await (const { createdAt, cells } of storedHours(figures, { name: EMBEDDINGS }, span))
    yield { source: EMBEDDINGS, hour: Date.parse(createdAt), cells: UsageBuckets.unpack(cells, question) };
}

/** Of cells that have all their labels. */
async function* withoutReads(
  hours: AsyncIterable<HourOfUsage>,
  { ownReads }: UsageQuestion,
): AsyncGenerator<HourOfUsage, void> {
  for await (const { cells, ...hour } of hours) yield { ...hour, cells: ownReads ? cells.without(ownReads) : cells };
}

async function isFew(source: Source, span: Span, kept: readonly UsageHour[], most: number): Promise<boolean> {
  const sum = kept.reduce((all, { counted: each }) => all + each, 0);
  if (sum > most || !(await isAllThere(source, kept, sum))) return false;
  return (await source.count(span, most + 1)) <= most;
}

/** Whether nothing that is in the kept figures was deleted since. The oldest goes first. */
async function isAllThere(source: Source, kept: readonly UsageHour[], sum: number): Promise<boolean> {
  const [first, last] = [kept.at(0), kept.at(-1)];
  if (!first || !last) return true;
  const [from, to] = [Date.parse(first.createdAt), Date.parse(last.createdAt) + HOUR_MS];
  if ((await source.count({ from, to: from + HOUR_MS }, first.counted)) < first.counted) return false;
  return (await source.count({ from, to }, sum)) >= sum;
}

async function* counted(source: Source, span: Span): AsyncGenerator<HourOfUsage, void> {
  for (const [hour, cells] of await source.hours(span)) yield { source: source.name, hour, cells };
}

async function* tallied(
  { name, tally }: Source,
  spans: readonly Span[],
  { periods, periodLabels = [], ...question }: UsageQuestion,
  isExact: boolean,
): AsyncGenerator<HourOfUsage, void> {
  const pieces = spans.flatMap((span) => (periods ? piecesOf(span, periods) : hoursIn(span)));
  // Many calls by period and row have about as many durations as there are calls.
  const asked =
    periods && !isExact
      ? ([
          ['periods', pieces, periodLabels],
          ['rows', spans, question.labels],
        ] as const)
      : ([[undefined, pieces, question.labels]] as const);
  const found = await Promise.all(
    asked.map(async ([of, parts, labels]) => ({
      ...(of && { of }),
      parts:
        (await tally?.(parts, { ...question, ...(labels && { labels }), isExact })) ?? new Map<number, UsageBuckets>(),
    })),
  );
  for (const { parts, ...of } of found) for (const [hour, cells] of parts) yield { source: name, hour, cells, ...of };
}

function piecesOf(span: Span, periods: readonly Span[]): Span[] {
  return periods.flatMap(({ from, to }) => {
    const piece = { from: Math.max(from, span.from), to: Math.min(to, span.to) };
    return piece.from < piece.to ? [piece] : [];
  });
}

function gapsIn({ from, to }: Span, kept: readonly UsageHour[]): Span[] {
  const gaps: Span[] = [];
  let at = from;
  for (const { createdAt } of kept) {
    const hour = Date.parse(createdAt);
    if (hour > at) gaps.push({ from: at, to: hour });
    at = hour + HOUR_MS;
  }
  return at < to ? [...gaps, { from: at, to }] : gaps;
}

async function* countedInParts(
  figures: Figures,
  source: Source,
  { gap, mostAtOnce }: { readonly gap: Span; readonly mostAtOnce: number },
): AsyncGenerator<HourOfUsage, void> {
  const count = await source.count(gap);
  if (count === 0) return;
  if (count <= mostAtOnce) return yield* counted(source, gap);
  for (const part of partsOf({ from: (await firstHour(source, gap)) ?? gap.from, to: gap.to })) {
    const cells = await partIn(figures, source, part);
    if (cells) yield { source: source.name, hour: part.from - (part.from % HOUR_MS), cells };
  }
}

function partsOf({ from, to }: Span): Span[] {
  const parts: Span[] = [];
  for (let at = from; at < to; ) {
    const size = at < to - RECENT_MS ? HOUR_MS : PART_MS;
    parts.push({ from: at, to: Math.min(at + size, to) });
    at += size;
  }
  return parts;
}

interface Part {
  readonly count: number;
  readonly packed: string;
}

/** By the log that they were counted from. */
const parts = new WeakMap<object, Map<string, Part>>();

/** What was counted before stays right until there is more: nothing in a log changes. Runs under way do, so they are counted anew. */
async function partIn(figures: Figures, source: Source, part: Span): Promise<UsageBuckets | undefined> {
  const count = await source.count(part);
  if (count === 0) return undefined;
  const known = parts.get(figures.audit) ?? new Map<string, Part>();
  parts.set(figures.audit, known);
  const key = `${source.name} ${part.from} ${part.to}`;
  const found = known.get(key);
  if (found?.count === count) return UsageBuckets.unpack(found.packed);
  const isOver = await source.isOver(part);
  const cells = [...(await source.hours(part)).values()].at(0) ?? new UsageBuckets();
  known.delete(key);
  if (isOver) known.set(key, { count, packed: cells.pack() });
  const [oldest] = known.keys();
  if (known.size > MOST_PARTS && oldest !== undefined) known.delete(oldest);
  return cells;
}
