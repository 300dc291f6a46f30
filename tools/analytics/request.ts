import { z } from 'zod';
import { timezone } from '../../resources/locale.ts';
import { SETTINGS_ID, type SettingsRecord } from '../../resources/settings.ts';
import type { Readers } from '../../store/port.ts';
import type { ServerFacts } from '../context.ts';
import { defineTool, type Fail, READS, type Tool } from '../define-tool.ts';
import { addDays, addIntervals, dateIn, floorTo, type Interval, type Period, periodsOf } from './calendar.ts';
import type { ImportedData } from './model/imported-data.ts';
import type { Model } from './model/model.ts';

const MOST_PERIODS = 800;
const date = z.iso.date();

/** Input of every analytics tool. */
const parameters = z.strictObject({
  from: date.optional().describe('First date, default so far back that the interval fits a common view.'),
  to: date.optional().describe('Date after the last, default tomorrow.'),
  interval: z.enum(['day', 'week', 'month']).optional().describe('Weeks begin on Monday.'),
  timezone: timezone.optional().describe('IANA time zone, default the one of the workspace.'),
});
type Parameters = z.output<typeof parameters>;

/** What every answer says of itself. */
const envelope = {
  asOf: z.iso.datetime().describe('When it was worked out.'),
  range: z.object({ from: date, to: date, interval: z.enum(['day', 'week', 'month']), timezone: z.string() }),
  definition: z.string().describe('The formula in words.'),
  warnings: z
    .array(z.object({ reason: z.string(), type: z.string(), currency: z.string(), rows: z.int() }))
    .optional()
    .describe('Rows that were left out.'),
};

/** One question: the data, the settings and the range cut into periods. */
export interface Question {
  readonly model: Model;
  readonly settings: SettingsRecord;
  readonly now: number;
  readonly zone: string;
  readonly interval: Interval;
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
  /** Last segment of the grant. */
  readonly topic: string;
  readonly interval: Interval;
  readonly definition: string;
  readonly shape: Shape;
  answer(question: Question): z.input<z.ZodObject<Shape>>;
  /** The answer in better words. It is not kept: whoever finds the words does that. */
  word?(answer: z.input<z.ZodObject<Shape>>, context: Wording): Promise<z.input<z.ZodObject<Shape>>>;
}

type Wording = Pick<Surroundings, 'store' | 'server'>;

/** An analytics tool: the same parameters, rights, envelope and memory for all. */
export function metric<Shape extends z.ZodRawShape>(given: Metric<Shape>): Tool & { readonly definition: string } {
  const { name, title, description, topic, definition, shape } = given;
  const tool = defineTool({
    name,
    title,
    description,
    access: { scope: 'analytics:read', grant: `analytics:read:${topic}` },
    annotations: READS,
    input: parameters,
    output: z.object({ ...envelope, ...shape }),
    errors: [],

    async handler(input, { store, server, fail }) {
      const question = await ask(input, given.interval, { store, server, fail });
      const { model, settings, now, zone, interval, from, to } = question;
      const memory = memoryOf(server.imported);
      const key = JSON.stringify([
        name,
        model.version,
        settings.revision,
        Math.floor(now / 60_000),
        from,
        to,
        interval,
        zone,
      ]);
      let kept = memory.get(key);
      if (!kept) {
        kept = { asOf: new Date(now).toISOString(), body: given.answer(question) };
        if (memory.size >= MOST_KEPT) memory.clear();
        memory.set(key, kept);
      }
      const range = { from, to, interval, timezone: zone };
      // The body was made by the answer of the metric of this name.
      const body = kept.body as z.input<z.ZodObject<Shape>>;
      return {
        asOf: kept.asOf,
        range,
        definition,
        ...((await given.word?.(body, { store, server })) ?? body),
      } as never;
    },
  });
  return Object.freeze({ ...tool, definition });
}

/** Answers to the same question about the same data, for a minute at most. */
const memories = new WeakMap<object, Map<string, { readonly asOf: string; readonly body: object }>>();
const MOST_KEPT = 200;

function memoryOf(data: Pick<ImportedData, 'current'>) {
  const memory = memories.get(data) ?? new Map<string, { readonly asOf: string; readonly body: object }>();
  memories.set(data, memory);
  return memory;
}

export async function workspaceSettings(store: Pick<Readers, 'settings'>): Promise<SettingsRecord> {
  const found = await store.settings.get(SETTINGS_ID);
  if (!found) throw new Error('The store holds no settings.');
  return found;
}

interface Surroundings {
  readonly store: Pick<Readers, 'settings' | 'botConfigs'>;
  readonly server: ServerFacts;
  readonly fail: Fail<never>;
}

async function ask(input: Parameters, usual: Interval, { store, server, fail }: Surroundings): Promise<Question> {
  const [settings, model] = [await workspaceSettings(store), await server.imported.current()];
  const now = server.now().getTime();
  const zone = input.timezone ?? settings.timezone;
  const interval = input.interval ?? usual;
  const to = input.to ?? addDays(dateIn(zone, now), 1);
  const from = input.from ?? usualFrom(to, interval);
  if (from >= to) {
    const message = `The range from ${from} to ${to} is empty; \`to\` is the date after the last.`;
    throw fail('invalid_input', message, { issues: [{ path: 'to', message: 'Give a date after `from`.' }] });
  }
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000;
  if (days / { day: 1, week: 7, month: 28 }[interval] > MOST_PERIODS) {
    const message = `The range has more than ${MOST_PERIODS} intervals; choose a longer interval or a shorter range.`;
    throw fail('invalid_input', message, { issues: [{ path: 'interval', message }] });
  }
  const periods = periodsOf(from, to, interval, zone);
  return {
    model,
    settings,
    now,
    zone,
    interval,
    from,
    to,
    periods,
    start: periods[0]?.start ?? now,
    end: periods.at(-1)?.end ?? now,
  };
}

/** 30 days, 12 weeks or 12 months. */
function usualFrom(to: string, interval: Interval): string {
  if (interval === 'day') return addDays(to, -30);
  return addIntervals(floorTo(addDays(to, -1), interval), interval, -11);
}

/** Null where there is nothing to divide by. */
export function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

export function median(values: number[] | Float64Array): number | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >>> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** Members that a period of a series begins with. */
export const periodShape = {
  from: date,
  to: date,
  complete: z.boolean().describe('The period is over.'),
};

export function periodHead({ from, to, end }: Period, now: number) {
  return { from, to, complete: end <= now };
}

export const share = z.number().nullable();
