import { z } from 'zod';
import { isNear } from '../../resources/fields.ts';
import { timezone } from '../../resources/locale.ts';
import type { Readers } from '../../store/port.ts';
import type { RowSnapshot, RowStore } from '../../store/rows-port.ts';
import { listOf } from '../../store/sql/lists.ts';
import type { ServerContext } from '../core/registry/context.ts';
import { defineTool, READS, type Tool } from '../core/registry/define-tool.ts';
import { frozen } from '../core/registry/frozen-output.ts';
import { readSettings } from '../settings/settings.ts';
import { AnswerCache } from './answer-cache.ts';
import { type Interval, type Period, rangeBefore } from './calendar.ts';
import { asking, type Question, type Whole } from './question.ts';
import { ratesOf } from './revenue/money.ts';

const date = z.iso.date();
const givenDate = z.iso.date({ abort: true }).refine(isNear, 'Give a date from 1900-01-01 to 2199-12-31.');

/** The input of every analytics tool. A tool that answers for the whole range takes no interval. */
const parameters = z.strictObject({
  from: givenDate.optional().describe('First date, like 2026-03-01. Default: suits the interval.'),
  to: givenDate.optional().describe('Exclusive, like 2026-04-01. Default: tomorrow.'),
  interval: z.enum(['day', 'week', 'month']).optional().describe('Weeks begin on Monday.'),
  timezone: timezone.optional().describe('IANA time zone. Default: the workspace’s.'),
  compare: z.enum(['previous']).optional().describe('Adds totals of the period before.'),
});
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
    .array(
      z.object({
        reason: z.string(),
        type: z.string().optional(),
        currency: z.string().optional(),
        rows: z.int().optional().describe('How many rows were left out.'),
      }),
    )
    .optional()
    .describe('Rows that were left out, and what about the range the numbers do not follow.'),
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

interface Metric<Shape extends z.ZodRawShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly keywords: string;
  /** The last segment of the grant. */
  readonly topic: string;
  readonly interval: Interval;
  readonly whole?: Whole;
  readonly asOfNow?: readonly string[];
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
  readonly server: ServerContext;
}

/** Makes an analytics tool. All have the same parameters, rights, answer members and cache. */
export function metric<Shape extends z.ZodRawShape>(given: Metric<Shape>): Tool & { readonly definition: string } {
  const { name, title, description, keywords, topic, definition, shape } = given;
  const form = forms[given.whole ?? 'never'];
  const answers = new WeakMap<RowStore, AnswerCache<CachedAnswer<Shape>>>();
  // Only the schema itself checks the members of the shape, so the handler need not know their types.
  const output: z.ZodObject = z.object({ ...envelope, range: form.range, ...shape, previous });
  const tool = defineTool({
    name,
    title,
    description,
    keywords,
    access: { scope: 'analytics:read', grant: `analytics:read:${topic}` },
    annotations: READS,
    view: 'chart',
    input: form.input,
    output,
    errors: [],

    async handler(input, { store, server, signal }) {
      const settings = await readSettings(store);
      const now = server.now().getTime();
      const kept = answers.get(server.rows) ?? new AnswerCache<CachedAnswer<Shape>>();
      answers.set(server.rows, kept);
      const ask = (question: Question) => answered(given, question, { kept, rows: server.rows, signal });
      const question = asking(input, given, { settings, now });
      const found = await ask(question);
      const worded = given.word
        ? { ...found.answer, ...(await given.word(found.body, { store, server })) }
        : found.answer;
      const notes = notesOn(input, question, given.asOfNow);
      const answer = notes.length > 0 ? { ...worded, warnings: [...warningsIn(worded), ...notes] } : worded;
      if (!input.compare) return answer;
      const range = rangeBefore(question, question.isWhole ? undefined : question.interval);
      const earlier = asking({ ...input, ...range }, given, { settings, now });
      // Answered as at the end of that range.
      const before = await ask({ ...earlier, now: Math.min(now, earlier.end - 1) });
      return compared(answer, range, before);
    },
  });
  return Object.freeze({ ...tool, definition });
}

/** What a reader of the answer would expect of the range, and does not get. */
function notesOn(
  { from, to }: z.output<typeof parameters>,
  question: Question,
  asOfNow: readonly string[] = [],
): { readonly reason: string }[] {
  const isAhead = question.start > question.now;
  const ahead = `The range from ${question.from} is wholly in the future, so nothing of it is counted yet; give an earlier \`from\`.`;
  const isGiven = asOfNow.length > 0 && (from !== undefined || to !== undefined);
  const fixed = `${asOfNow.join(', ')} are as of now, whatever the range; totals and series are about the range.`;
  return [...(isAhead ? [{ reason: ahead }] : []), ...(isGiven ? [{ reason: fixed }] : [])];
}

function warningsIn({ warnings }: Answer): readonly unknown[] {
  return Array.isArray(warnings) ? warnings : [];
}

/** What was worked out, and the whole answer with it. Nobody changes either. */
interface CachedAnswer<Shape extends z.ZodRawShape> {
  readonly body: Body<Shape>;
  readonly answer: Answer;
}

type Answer = Readonly<Record<string, unknown>>;

interface Asker<Shape extends z.ZodRawShape> {
  readonly kept: AnswerCache<CachedAnswer<Shape>>;
  readonly rows: RowStore;
  readonly signal: AbortSignal | undefined;
}

/** The answer to the question, made once for as long as neither rows nor settings change, and for a minute at most. */
async function answered<Shape extends z.ZodRawShape>(
  metric: Metric<Shape>,
  asked: Question,
  { kept, rows, signal }: Asker<Shape>,
): Promise<CachedAnswer<Shape>> {
  const { from, to, interval, isWhole, zone, now, settings } = asked;
  const rates = ratesOf(settings);
  await rows.useRates(rates);
  const range = { from, to, ...(!isWhole && { interval }), timezone: zone };
  const state = `${rows.version} ${settings.revision}`;
  const question = `${Math.floor(now / 60_000)} ${JSON.stringify(range)}`;
  return kept.get(
    { state, question },
    async (signal) => {
      const body = await rows.read((snapshot) => metric.answer(asked, snapshot), { signal, rates });
      const answer = { asOf: new Date(now).toISOString(), range, definition: metric.definition, ...body };
      return { body, answer: frozen(answer) };
    },
    signal,
  );
}

const comparisons = new WeakMap<Answer, { readonly before: object; readonly answer: Answer }>();

function compared(answer: Answer, range: Pick<Question, 'from' | 'to'>, before: { readonly answer: Answer }): Answer {
  const known = comparisons.get(answer);
  if (known?.before === before) return known.answer;
  const made = frozen({ ...answer, previous: { ...range, totals: before.answer.totals } });
  comparisons.set(answer, { before, answer: made });
  return made;
}

export function limitsOf(periods: readonly Pick<Period, 'start' | 'end'>[]): string {
  const [first] = periods;
  return listOf(first ? [first.start, ...periods.map(({ end }) => end)] : []);
}

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

export function seriesOf<Row, Point>(
  { periods, now }: Pick<Question, 'periods' | 'now'>,
  rows: readonly Row[],
  point: (row: Row, period: Period) => Point,
) {
  if (rows.length !== periods.length) throw new Error(`${periods.length} periods have ${rows.length} rows.`);
  return periods.map((period, at) => ({ ...periodHead(period, now), ...point(rows[at] as Row, period) })); // as many
}

export const share = z.number().nullable();
