import { z } from 'zod';
import { timezone } from '../../resources/locale.ts';
import { SETTINGS_ID, type SettingsRecord } from '../../resources/settings.ts';
import type { Readers } from '../../store/port.ts';
import type { RowSnapshot } from '../../store/rows-port.ts';
import { listOf } from '../../store/sql/lists.ts';
import type { Context, ServerFacts } from '../registry/context.ts';
import { defineTool, type Fail, READS, type Tool } from '../registry/define-tool.ts';
import {
  addDays,
  addIntervals,
  dateIn,
  floorTo,
  type Interval,
  type Period,
  periodsOf,
  rangeBefore,
} from './calendar.ts';
import { KeptAnswers } from './kept-answers.ts';
import { ratesOf } from './revenue/money.ts';

const MOST_PERIODS = 800;
const date = z.iso.date();
/** Years with more than four digits are refused: such dates do not sort as texts. */
const givenDate = z.iso
  .date({ abort: true })
  .refine((text) => text >= '1900' && text < '2200', 'Give a date from 1900-01-01 to 2199-12-31.');

/** The input of every analytics tool. A tool that answers for the whole range takes no interval. */
const parameters = z.strictObject({
  from: givenDate.optional().describe('First date, like 2026-03-01. Default: as far back as suits the interval.'),
  to: givenDate.optional().describe('Date after the last, like 2026-04-01. Default: tomorrow.'),
  interval: z.enum(['day', 'week', 'month']).optional().describe('Weeks begin on Monday.'),
  timezone: timezone.optional().describe('IANA time zone. Default: that of the workspace.'),
  compare: z.enum(['previous']).optional().describe('Adds the totals of the period before.'),
});
type Parameters = z.output<typeof parameters>;
const ofWholeRange = parameters.omit({ interval: true }).extend({
  from: givenDate.optional().describe('First date, like 2026-03-01. Default: 30 days back, for insights 12 months.'),
});
const ofWholeRangeOrPeriods = parameters.extend({
  interval: parameters.shape.interval.describe('Adds a series by day, week (from Monday) or month. Default: none.'),
});

/** The members that every answer has. */
const envelope = {
  asOf: z.iso.datetime().describe('When it was worked out.'),
  definition: z.string().describe('The formula in words.'),
  warnings: z
    .array(z.object({ reason: z.string(), type: z.string(), currency: z.string(), rows: z.int() }))
    .optional()
    .describe('Rows that were left out.'),
};

/** Numbers that stand at a time are those at the end of the period before. */
const previous = z
  .object({ from: date, to: date, totals: z.record(z.string(), z.unknown()) })
  .optional()
  .describe('The period before, where `compare` asks for it.');

const range = z.object({ from: date, to: date, interval: z.enum(['day', 'week', 'month']), timezone: z.string() });
const wholeRange = range.omit({ interval: true });

/** What a metric takes and gives by whether it answers for the whole range. */
const forms = {
  never: { input: parameters, range },
  always: { input: ofWholeRange, range: wholeRange },
  'by default': { input: ofWholeRangeOrPeriods, range: range.partial({ interval: true }) },
};

/** One question: the settings, and the range cut into periods. */
export interface Question {
  readonly settings: SettingsRecord;
  readonly now: number;
  readonly zone: string;
  readonly interval: Interval;
  /** The answer is about the whole range, not about its periods. */
  readonly isWhole: boolean;
  readonly from: string;
  readonly to: string;
  readonly periods: readonly Period[];
  readonly start: number;
  readonly end: number;
}

interface Metric<Shape extends z.ZodRawShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The last segment of the grant. */
  readonly topic: string;
  /** The interval where none is given. */
  readonly interval: Interval;
  /**
   * Whether the metric answers for the whole range: always, when no interval can be given, or by default, when none is given. Then the
   * usual interval only says how far back the range goes.
   */
  readonly whole?: 'always' | 'by default';
  readonly definition: string;
  readonly shape: Shape;
  /** All queries of an answer see the same state of the rows. */
  answer(question: Question, rows: RowSnapshot): Promise<Body<Shape>>;
  /** Puts the answer into better words. Whatever finds the words also caches them. */
  word?(answer: Body<Shape>, context: Wording): Promise<Body<Shape>>;
}

type Body<Shape extends z.ZodRawShape> = z.input<z.ZodObject<Shape>>;

interface Wording {
  readonly store: Pick<Readers, 'settings' | 'botConfigs'>;
  readonly server: ServerFacts;
}

/** Makes an analytics tool. All have the same parameters, rights, answer members and cache. */
export function metric<Shape extends z.ZodRawShape>(given: Metric<Shape>): Tool & { readonly definition: string } {
  const { name, title, description, topic, definition, shape } = given;
  const form = forms[given.whole ?? 'never'];
  const tool = defineTool({
    name,
    title,
    description,
    access: { scope: 'analytics:read', grant: `analytics:read:${topic}` },
    annotations: READS,
    view: 'chart',
    input: form.input,
    output: z.object({ ...envelope, range: form.range, ...shape, previous }),
    errors: [],

    async handler(input, { store, server, fail, signal }) {
      const settings = await workspaceSettings(store);
      const now = server.now().getTime();
      const asked = asking(input, given, { settings, now, fail });
      const kept = await answered(given, asked, { server, signal });
      // The metric of this name made the body.
      const body = kept.body as Body<Shape>;
      const worded = (await given.word?.(body, { store, server })) ?? body;
      const { from, to, interval, isWhole, zone } = asked;
      const range = { from, to, ...(!isWhole && { interval }), timezone: zone };
      const answer = { asOf: kept.asOf, range, definition, ...worded };
      if (!input.compare) return answer as never;
      const before = rangeBefore(asked, isWhole ? undefined : interval);
      const earlier = asking({ ...input, ...before }, given, { settings, now, fail });
      // Answered as at the end of that range.
      const { body: old } = await answered(
        given,
        { ...earlier, now: Math.min(now, earlier.end - 1) },
        { server, signal },
      );
      return { ...answer, previous: { ...before, totals: old.totals } } as never;
    },
  });
  return Object.freeze({ ...tool, definition });
}

/** The answer to the question, made once for as long as neither rows nor settings change, and for a minute at most. */
async function answered<Shape extends z.ZodRawShape>(
  metric: Metric<Shape>,
  asked: Question,
  { server, signal }: Asker,
): Promise<Kept> {
  const { rows } = server;
  const { from, to, interval, isWhole, zone, now, settings } = asked;
  const rates = ratesOf(settings);
  await rows.useRates(rates);
  const range = [from, to, isWhole ? '' : interval, zone];
  const key = [metric.name, rows.version, settings.revision, Math.floor(now / 60_000), ...range];
  return answersOf(rows).get(
    JSON.stringify(key),
    (signal) =>
      rows.read(
        async (snapshot) => ({ asOf: new Date(now).toISOString(), body: await metric.answer(asked, snapshot) }),
        { signal, rates },
      ),
    signal,
  );
}

type Asker = Pick<Context<never, never>, 'server' | 'signal'>;

interface Kept {
  readonly asOf: string;
  readonly body: { readonly totals?: unknown };
}

const answers = new WeakMap<object, KeptAnswers<Kept>>();

function answersOf(rows: object): KeptAnswers<Kept> {
  const found = answers.get(rows) ?? new KeptAnswers<Kept>();
  answers.set(rows, found);
  return found;
}

export async function workspaceSettings(store: Pick<Readers, 'settings'>): Promise<SettingsRecord> {
  const found = await store.settings.get(SETTINGS_ID);
  if (!found) throw new Error('The store holds no settings.');
  return found;
}

interface QuestionContext {
  readonly settings: SettingsRecord;
  readonly now: number;
  readonly fail: Fail<never>;
}

function asking(
  input: Parameters,
  { interval: usual, whole }: Pick<Metric<z.ZodRawShape>, 'interval' | 'whole'>,
  { settings, now, fail }: QuestionContext,
): Question {
  const zone = input.timezone ?? settings.timezone;
  const to = input.to ?? addDays(dateIn(zone, now), 1);
  const from = input.from ?? usualFrom(to, input.interval ?? usual);
  const isWhole = whole === 'always' || (whole === 'by default' && input.interval === undefined);
  // The periods of a whole range are not shown, so the longest interval is used, which makes the fewest.
  const interval = isWhole ? 'month' : (input.interval ?? usual);
  if (from >= to) {
    const message = `The range from ${from} to ${to} is empty; \`to\` is the date after the last.`;
    throw fail('invalid_input', message, { issues: [{ path: 'to', message: 'Give a date after `from`.' }] });
  }
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000;
  if (!isWhole && days / { day: 1, week: 7, month: 28 }[interval] > MOST_PERIODS) {
    const message = `The range has more than ${MOST_PERIODS} intervals; choose a longer interval or a shorter range.`;
    throw fail('invalid_input', message, { issues: [{ path: 'interval', message }] });
  }
  const periods = periodsOf(from, to, interval, zone);
  return {
    settings,
    now,
    zone,
    interval,
    isWhole,
    from,
    to,
    periods,
    start: periods[0]?.start ?? now,
    end: periods.at(-1)?.end ?? now,
  };
}

/** The limits between consecutive periods, as queries take them. */
export function limitsOf(periods: readonly Pick<Period, 'start' | 'end'>[]): string {
  const [first] = periods;
  return listOf(first ? [first.start, ...periods.map(({ end }) => end)] : []);
}

/** 30 days, 12 weeks or 12 months. */
function usualFrom(to: string, interval: Interval): string {
  if (interval === 'day') return addDays(to, -30);
  return addIntervals(floorTo(addDays(to, -1), interval), interval, -11);
}

/** Null where the divisor is 0. */
export function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

/** The first members of each period in a series. */
export const periodShape = {
  from: date,
  to: date,
  complete: z.boolean().describe('The period is over.'),
};

export function periodHead({ from, to, end }: Period, now: number) {
  return { from, to, complete: end <= now };
}

/** The series of an answer, from one row for each period. */
export function seriesOf<Row, Point>(
  { periods, now }: Pick<Question, 'periods' | 'now'>,
  rows: readonly Row[],
  point: (row: Row, period: Period) => Point,
) {
  if (rows.length !== periods.length) throw new Error(`${periods.length} periods have ${rows.length} rows.`);
  return periods.map((period, at) => ({ ...periodHead(period, now), ...point(rows[at] as Row, period) })); // as many
}

export const share = z.number().nullable();
