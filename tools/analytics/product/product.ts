import { z } from 'zod';
import { median } from '../model/median.ts';
import { metric, ratio, share } from '../request.ts';
import { funnelParts, passages } from './funnel-passages.ts';
import { indexesOf } from './product-indexes.ts';

const count = z.int().min(0);

export const getFeatureAdoption = metric({
  name: 'get_feature_adoption',
  title: 'Get feature adoption',
  description: 'For each feature in the settings: users, share of active users, first-time users, uses.',
  topic: 'product',
  interval: 'day',
  whole: true,
  definition:
    'Adoption = users with an event of the feature (settings analytics.features) in the range / active users of the range. First-time users have their first event of the feature ever in the range.',
  shape: {
    totals: z.object({ activeUsers: count }),
    rows: z.array(z.object({ feature: z.string(), users: count, firstTimeUsers: count, uses: count, adoption: share })),
  },

  parts({ model, settings }) {
    const indexes = indexesOf(model, settings);
    const features = Object.values(settings.analytics.features).map((names) => indexes.of(names));
    return indexes.parts([indexes.activity, ...features]);
  },
  answer({ model, settings, start, end }) {
    const indexes = indexesOf(model, settings);
    const active = indexes.activity.users(start, end);
    const rows = Object.entries(settings.analytics.features).map(([feature, names]) => {
      const { users, firstTimeUsers, uses } = indexes.of(names).counts(start, end);
      return { feature, users, firstTimeUsers, uses, adoption: ratio(users, active) };
    });
    return { totals: { activeUsers: active }, rows };
  },
});

export const getOnboardingFunnel = metric({
  name: 'get_onboarding_funnel',
  title: 'Get onboarding funnel',
  description: 'How many users pass each step of the funnel in the settings, with conversion and time between steps.',
  topic: 'product',
  interval: 'day',
  whole: true,
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

  parts: ({ model, settings }) => funnelParts(model, settings),
  answer(question) {
    const steps = question.settings.analytics.funnel;
    const { users, seconds } = passages(question.model, question.settings, question);
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
