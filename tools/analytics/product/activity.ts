import type { SettingsRecord } from '../../../resources/settings.ts';
import type { RowSnapshot } from '../../../store/rows-port.ts';
import type { Period } from '../calendar.ts';
import { limitsOf } from '../request.ts';
import { activeUsersByPeriod, activityParameters } from './activity.sql.ts';

/** The distinct active users of consecutive periods, of each and of all together. */
export async function activeUsersOf(
  rows: RowSnapshot,
  settings: Pick<SettingsRecord, 'analytics'>,
  periods: readonly Pick<Period, 'start' | 'end'>[],
): Promise<{ readonly total: number; readonly each: readonly number[] }> {
  const found = await rows.query<{ period: number | null; users: number }>(activeUsersByPeriod, [
    limitsOf(periods),
    ...activityParameters(settings),
  ]);
  const byPeriod = new Map(found.map(({ period, users }) => [period, users]));
  return { total: byPeriod.get(null) ?? 0, each: periods.map((_, at) => byPeriod.get(at + 1) ?? 0) };
}
