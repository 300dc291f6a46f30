import { z } from 'zod';
import { websiteState } from '../../../resources/imported-rows.ts';
import { websiteHistory } from '../model/website-history.ts';
import { median, metric, periodHead, periodShape, type Question, ratio, share } from '../request.ts';
import { activeUsers } from './activity.ts';

const count = z.int().min(0);

export const getFeatureAdoption = metric({
  name: 'get_feature_adoption',
  title: 'Get feature adoption',
  description: 'For each feature of the settings: users, share of the active users, users for the first time, uses.',
  topic: 'product',
  interval: 'day',
  definition:
    'Adoption = users with an event of the feature (settings analytics.features) in the range / active users of the range. First-time users have their first event of the feature ever in the range.',
  shape: {
    totals: z.object({ activeUsers: count }),
    rows: z.array(z.object({ feature: z.string(), users: count, firstTimeUsers: count, uses: count, adoption: share })),
  },

  answer({ model, settings, start, end }) {
    const { events } = model;
    const active = activeUsers(events, settings, start, end).size;
    const { uid, name, time } = events.table.columns;
    const rows = Object.entries(settings.analytics.features).map(([feature, names]) => {
      const numbers = new Set(names.flatMap((text) => events.names.get(text) ?? []));
      const earlier = new Set<number>();
      const users = new Set<number>();
      let uses = 0;
      for (const row of events.within(Number.NEGATIVE_INFINITY, end)) {
        if (!numbers.has(name[row] ?? 0)) continue;
        if ((time[row] ?? 0) < start) earlier.add(uid[row] ?? 0);
        else {
          users.add(uid[row] ?? 0);
          uses += 1;
        }
      }
      const firstTimeUsers = [...users].filter((user) => !earlier.has(user)).length;
      return { feature, users: users.size, firstTimeUsers, uses, adoption: ratio(users.size, active) };
    });
    return { totals: { activeUsers: active }, rows };
  },
});

export const getOnboardingFunnel = metric({
  name: 'get_onboarding_funnel',
  title: 'Get onboarding funnel',
  description:
    'How many users pass each step of the funnel of the settings, the conversions and the time between steps.',
  topic: 'product',
  interval: 'day',
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

  answer(question) {
    const steps = question.settings.analytics.funnel;
    const { users, seconds } = passages(question, steps);
    const [entered = 0] = users;
    const rows = steps.map((event, at) => ({
      step: at + 1,
      event,
      users: users[at] ?? 0,
      conversionFromFirst: ratio(users[at] ?? 0, entered),
      conversionFromPrevious: at === 0 ? null : ratio(users[at] ?? 0, users[at - 1] ?? 0),
      medianSecondsFromPrevious: at === 0 ? null : median(seconds[at] ?? []),
    }));
    const completed = users.at(-1) ?? 0;
    return { totals: { entered, completed, conversion: ratio(completed, entered) }, rows };
  },
});

/** Per step how many users passed it, and the seconds each took from the step before. */
export function passages({ model, start, end }: Question, steps: readonly string[]) {
  const { events } = model;
  const { uid, name, time } = events.table.columns;
  const numbers = steps.map((step) => events.names.get(step));
  const progress = new Map<number, { step: number; time: number }>();
  const users = steps.map(() => 0);
  const seconds: number[][] = steps.map(() => []);
  for (const row of events.within(start, end)) {
    const user = uid[row] ?? 0;
    const at = time[row] ?? 0;
    const reached = progress.get(user);
    const next = reached ? reached.step + 1 : 0;
    if (numbers[next] === undefined || numbers[next] !== name[row] || (reached && at <= reached.time)) continue;
    users[next] = (users[next] ?? 0) + 1;
    if (reached) seconds[next]?.push((at - reached.time) / 1000);
    progress.set(user, { step: next, time: at });
  }
  return { users, seconds };
}

const STATES = websiteState.options;
const states = { draft: count, published: count, suspended: count, deleted: count };

export const getWebsiteStates = metric({
  name: 'get_website_states',
  title: 'Get website states',
  description: 'Websites per state at the end of the range and of each period, and the transitions between states.',
  topic: 'product',
  interval: 'day',
  definition:
    'A website is a draft from its creation, then in the state its imports say, each from its own time on. Counts are those at the end of the range or period, or of asOf where that is earlier; transitions and creations are those within the range.',
  shape: {
    totals: z.object({ ...states, created: count, transitions: count }),
    rows: z.array(z.object({ from: websiteState, to: websiteState, count })).describe('Transitions that happened.'),
    series: z.array(z.object({ ...periodShape, ...states, created: count, transitions: count })),
  },

  answer({ model, periods, start, end, now }) {
    const steps = [...model.websites.values()].flatMap((site) => {
      const history = websiteHistory(site);
      return history.map(({ time, state }, at) => ({ time, state, before: history[at - 1]?.state }));
    });
    const known = steps.filter(({ time }) => time <= now).sort((a, b) => a.time - b.time);
    const counts = { draft: 0, published: 0, suspended: 0, deleted: 0 };
    let at = 0;
    const walkTo = (time: number) => {
      let [created, transitions] = [0, 0];
      for (let step = known[at]; step && step.time < time; step = known[at]) {
        counts[step.state] += 1;
        if (step.before) counts[step.before] -= 1;
        if (step.before) transitions += 1;
        else created += 1;
        at += 1;
      }
      return { ...counts, created, transitions };
    };
    walkTo(start);
    const series = periods.map((period) => ({ ...periodHead(period, now), ...walkTo(period.end) }));
    const within = known.filter(({ time }) => time >= start && time < end);
    const rows = STATES.flatMap((from) =>
      STATES.flatMap((to) => {
        const happened = within.filter(({ before, state }) => before === from && state === to).length;
        return happened > 0 ? [{ from, to, count: happened }] : [];
      }),
    );
    const created = within.filter(({ before }) => !before).length;
    return { totals: { ...counts, created, transitions: within.length - created }, rows, series };
  },
});
