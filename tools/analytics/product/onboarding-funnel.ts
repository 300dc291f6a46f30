import { z } from 'zod';
import { DAY_MS } from '../../../resources/durations.ts';
import type { NamedQuery, RowSnapshot } from '../../../store/rows-port.ts';
import { decoded, listOf } from '../../../store/sql/lists.ts';
import type { Period } from '../calendar.ts';
import { metric, ratio, share } from '../request.ts';

const count = z.int().min(0);

export const getOnboardingFunnel = metric({
  name: 'get_onboarding_funnel',
  title: 'Get onboarding funnel',
  description: 'How many users pass each step of the funnel in the settings, with conversion and time between steps.',
  keywords:
    'drop-off, sign-up funnel, conversion steps, activation, where do new users give up, registration, where do people drop off, conversion rate of sign-up',
  topic: 'product',
  interval: 'day',
  whole: 'always',
  definition:
    'A user passes a step with the first event of its name in the range that comes after the one that passed the step before. Conversion = users of the step / users of the first step, or of the step before; seconds are the median from the step before. Steps: settings analytics.funnel.',
  shape: {
    totals: z.object({ entered: count, completed: count, conversion: share }),
    rows: z.array(
      z.object({
        step: z.int().min(1),
        event: z.string(),
        users: count,
        conversionFromFirst: share,
        conversionFromPrevious: share.describe('Null for the first step.'),
        medianSecondsFromPrevious: z.number().nullable(),
      }),
    ),
  },

  async answer({ settings, start, end }, rows) {
    const { funnel } = settings.analytics;
    const passed = await passages(rows, funnel, { start, end });
    const users = passed.map((step) => step.users);
    const [entered = 0] = users;
    const steps = passed.map((step, at) => ({
      step: at + 1,
      event: step.event,
      users: step.users,
      conversionFromFirst: ratio(step.users, entered),
      conversionFromPrevious: at === 0 ? null : ratio(step.users, users[at - 1] ?? 0),
      medianSecondsFromPrevious: step.medianSeconds,
    }));
    const completed = users.at(-1) ?? 0;
    return { totals: { entered, completed, conversion: ratio(completed, entered) }, rows: steps };
  },
});

interface Passage {
  readonly event: string;
  readonly users: number;
  /** Null for the first step and where nobody passes. */
  readonly medianSeconds: number | null;
}

/** For each step of the funnel: how many users passed it in the range, and the median time from the step before. */
export async function passages(
  rows: RowSnapshot,
  funnel: readonly string[],
  { start, end }: Pick<Period, 'start' | 'end'>,
): Promise<Passage[]> {
  if (funnel.length === 0) return [];
  const found = await rows.query<{ step: number; users: number; median_ms: number | null }>(passagesOfSteps, [
    listOf(funnel.map((_, at) => at + 1)),
    listOf(funnel),
    start,
    end,
  ]);
  const byStep = new Map(found.map((row) => [row.step, row]));
  return funnel.map((event, at) => {
    const { users = 0, median_ms: median = null } = byStep.get(at + 1) ?? {};
    return { event, users, medianSeconds: median === null ? null : median / 1000 };
  });
}

/**
 * How many users pass each step of the funnel, and the median time from the step before. A user passes the first step with the first event
 * of its name in the range, and every other step with the first event of its name that is later than the event that passed the step before,
 * and in the range. $1, $2: numbers of the steps, from 1 on, and names of their events, as pairs. $3, $4: start and end of the range.
 */
const passagesOfSteps: NamedQuery = {
  name: 'passages of the funnel',
  sql: `
  with recursive steps as (
    select ${decoded('step', 'integer')} as step, ${decoded('name', 'text')} as name
    from (
      select unnest(string_to_array($1, chr(31))) as step, unnest(string_to_array($2, chr(31))) as name
    ) as pairs
  ),
  happened as (
    select person, step, at_ms
    from events join steps on steps.name = events.name
    where at_ms >= cast($3 as bigint) and at_ms < cast($4 as bigint)
      -- the days of the range, as PostgreSQL has an index of days
      and at_ms / ${DAY_MS} >= cast($3 as bigint) / ${DAY_MS} and at_ms / ${DAY_MS} <= cast($4 as bigint) / ${DAY_MS}
  ),
  passed as (
    select step, person, min(at_ms) as at_ms, cast(null as bigint) as waited_ms
    from happened where step = 1
    group by step, person
    union all
    select step, person, at_ms, waited_ms
    from (
      select
        happened.step, passed.person, happened.at_ms, happened.at_ms - passed.at_ms as waited_ms,
        row_number() over (partition by passed.person order by happened.at_ms) as place
      from passed join happened
        on happened.person = passed.person and happened.step = passed.step + 1 and happened.at_ms > passed.at_ms
    ) as later
    where place = 1
  )
  select step, count(*) as users, percentile_cont(0.5) within group (order by waited_ms) as median_ms
  from passed
  group by step`,
};
