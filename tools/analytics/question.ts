import { DAY_MS } from '../../resources/durations.ts';
import type { SettingsRecord } from '../../resources/settings.ts';
import { invalidMember, ToolError } from '../core/errors.ts';
import { addDays, addIntervals, dateIn, floorTo, type Interval, type Period, periodsOf } from './calendar.ts';

export const MOST_PERIODS = 800;

/** What a caller says about the range. */
interface QuestionInput {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly interval?: Interval | undefined;
  readonly timezone?: string | undefined;
}

/** Whether a metric answers for the whole range: always, or by default where no interval is given. Then the interval only sets how far back. */
export type Whole = 'always' | 'by default';

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

/** What a metric does where the caller does not say. */
interface Usual {
  readonly interval: Interval;
  readonly whole?: Whole;
}

export function asking(
  input: QuestionInput,
  { interval: usual, whole }: Usual,
  { settings, now }: Pick<Question, 'settings' | 'now'>,
): Question {
  const zone = input.timezone ?? settings.timezone;
  const to = input.to ?? addDays(dateIn(zone, now), 1);
  const from = input.from ?? usualFrom(to, input.interval ?? usual);
  const isWhole = whole === 'always' || (whole === 'by default' && input.interval === undefined);
  // The periods of a whole range are not shown, so the longest interval is used, which makes the fewest.
  const interval = isWhole ? 'month' : (input.interval ?? usual);
  if (from >= to) {
    const message = `The range from ${from} to ${to} is empty; \`to\` is the date after the last.`;
    throw new ToolError('invalid_input', message, { issues: [{ path: 'to', message: 'Give a date after `from`.' }] });
  }
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
  if (!isWhole && days / { day: 1, week: 7, month: 28 }[interval] > MOST_PERIODS) {
    throw invalidMember(
      'interval',
      `The range has more than ${MOST_PERIODS} intervals; choose a longer interval or a shorter range.`,
    );
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

/** 30 days, 12 weeks or 12 months. */
function usualFrom(to: string, interval: Interval): string {
  if (interval === 'day') return addDays(to, -30);
  return addIntervals(floorTo(addDays(to, -1), interval), interval, -11);
}
