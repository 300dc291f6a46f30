import { z } from 'zod';
import type { NamedQuery, RowSnapshot } from '../../../store/rows-port.ts';
import { decoded, listOf } from '../../../store/sql/lists.ts';
import type { Period } from '../calendar.ts';
import { metric, ratio, share } from '../request.ts';
import { activeUsersOf } from './activity.ts';

const count = z.int().min(0);

export const getFeatureAdoption = metric({
  name: 'get_feature_adoption',
  title: 'Get feature adoption',
  description: 'For each feature in the settings: users, share of active users, first-time users, uses.',
  keywords: 'which features are used, popular functions, feature usage, adoption rate',
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

async function usesOf(
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

/**
 * For each feature: users with one of its events in the range; users whose first such event ever is in the range; such events in the range.
 * $1, $2: numbers of the features and names of their events, as pairs. $3, $4: start and end of the range.
 */
const useOfFeatures: NamedQuery = {
  name: 'use of features',
  sql: `
  with names as (
    select ${decoded('feature', 'integer')} as feature, ${decoded('name', 'text')} as name
    from (
      select unnest(string_to_array($1, chr(31))) as feature, unnest(string_to_array($2, chr(31))) as name
    ) as pairs
  ),
  range as (select cast($3 as bigint) as from_ms, cast($4 as bigint) as to_ms),
  people as (
    select feature, person, min(at_ms) as first_ms, count(case when at_ms >= from_ms and at_ms < to_ms then 1 end) as uses
    from events join names on names.name = events.name cross join range
    group by feature, person
  )
  select
    feature,
    count(case when uses > 0 then 1 end) as users,
    count(case when first_ms >= from_ms and first_ms < to_ms then 1 end) as first_time_users,
    cast(sum(uses) as bigint) as uses
  from people cross join range
  group by feature`,
};
