import { z } from 'zod';
import type { RowSnapshot } from '../../../store/rows-port.ts';
import { listOf } from '../../../store/sql/lists.ts';
import type { Period } from '../calendar.ts';
import { metric, ratio, share } from '../request.ts';
import { activeUsersOf } from './activity.ts';
import { useOfFeatures } from './features.sql.ts';

const count = z.int().min(0);

export const getFeatureAdoption = metric({
  name: 'get_feature_adoption',
  title: 'Get feature adoption',
  description: 'For each feature in the settings: users, share of active users, first-time users, uses.',
  topic: 'product',
  interval: 'day',
  whole: 'always',
  definition:
    'Adoption = users with an event of the feature (settings analytics.features) in the range / active users of the range. First-time users have their first event of the feature ever in the range.',
  shape: {
    totals: z.object({ activeUsers: count }),
    rows: z.array(z.object({ feature: z.string(), users: count, firstTimeUsers: count, uses: count, adoption: share })),
  },

  async answer({ settings, start, end }, rows) {
    const { total: activeUsers } = await activeUsersOf(rows, settings, [{ start, end }]);
    const used = await usesOf(rows, Object.entries(settings.analytics.features), { start, end });
    const features = used.map((use) => ({ ...use, adoption: ratio(use.users, activeUsers) }));
    return { totals: { activeUsers }, rows: features };
  },
});

interface Use {
  readonly users: number;
  readonly firstTimeUsers: number;
  readonly uses: number;
}

const UNUSED: Use = { users: 0, firstTimeUsers: 0, uses: 0 };

/** How each feature is used in the range. A feature is its name and the names of its events. */
export async function usesOf(
  rows: RowSnapshot,
  features: readonly (readonly [string, readonly string[]])[],
  { start, end }: Pick<Period, 'start' | 'end'>,
): Promise<(Use & { readonly feature: string })[]> {
  if (features.length === 0) return [];
  const pairs = features.flatMap(([, names], at) => [...new Set(names)].map((name) => ({ at, name })));
  const found = await rows.query<{ feature: number; users: number; first_time_users: number; uses: number }>(
    useOfFeatures,
    [listOf(pairs.map(({ at }) => at)), listOf(pairs.map(({ name }) => name)), start, end],
  );
  const byFeature = new Map(found.map((row) => [row.feature, row]));
  return features.map(([feature], at) => {
    const row = byFeature.get(at);
    if (!row) return { feature, ...UNUSED };
    return { feature, users: row.users, firstTimeUsers: row.first_time_users, uses: row.uses };
  });
}
