import type { RowSnapshot } from '../../store/rows-port.ts';
import { listOf } from '../../store/sql/lists.ts';
import type { Period } from './calendar.ts';
import { limitsOf } from './request.ts';
import { usersByPeriod } from './users.sql.ts';

/** Users there at the end of each of the consecutive periods, and those created in it. */
export async function usersOf(rows: RowSnapshot, periods: readonly Pick<Period, 'start' | 'end'>[]) {
  const changes = await changesOf(rows, limitsOf(periods));
  let users = changes.get(0)?.more ?? 0;
  return periods.map((_, at) => {
    const { created = 0, more = 0 } = changes.get(at + 1) ?? {};
    users += more;
    return { users, newUsers: created };
  });
}

/** Users there after every change up to and including the time. */
export async function usersAt(rows: RowSnapshot, time: number): Promise<number> {
  return (await changesOf(rows, listOf([time + 1]))).get(0)?.more ?? 0;
}

async function changesOf(rows: RowSnapshot, limits: string) {
  const found = await rows.query<{ period: number; created: number; gone: number }>(usersByPeriod, [limits]);
  return new Map(found.map(({ period, created, gone }) => [period, { created, more: created - gone }]));
}
