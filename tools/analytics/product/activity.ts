import type { SettingsRecord } from '../../../resources/settings.ts';
import type { EventTable } from '../model/events.ts';

/** Which event names make a user active, by the settings: 1 for those that do. */
export function activityNames(events: EventTable, settings: SettingsRecord): Uint8Array {
  const { activityEvents } = settings.analytics;
  const names = events.names.texts;
  if (activityEvents === 'all') return new Uint8Array(names.length).fill(1);
  return Uint8Array.from(names, (name) => Number(activityEvents.includes(name)));
}

/** The distinct users with an activity event in [from, to). */
export function activeUsers(events: EventTable, settings: SettingsRecord, from: number, to: number): Set<number> {
  const counts = activityNames(events, settings);
  const { uid, name } = events.table.columns;
  const users = new Set<number>();
  for (const row of events.within(from, to)) if (counts[name[row] ?? 0]) users.add(uid[row] ?? 0);
  return users;
}

/**
 * Calls back for every activity event in [from, to), oldest first, with the user and the number of the stretch between the limits
 * in which it happened.
 */
export function eachActivity(
  events: EventTable,
  settings: SettingsRecord,
  limits: readonly number[],
  visit: (user: number, stretch: number) => void,
): void {
  const counts = activityNames(events, settings);
  const { uid, name, time } = events.table.columns;
  let stretch = 0;
  for (const row of events.within(limits[0] ?? 0, limits.at(-1) ?? 0)) {
    while ((time[row] ?? 0) >= (limits[stretch + 1] ?? Number.POSITIVE_INFINITY)) stretch += 1;
    if (counts[name[row] ?? 0]) visit(uid[row] ?? 0, stretch);
  }
}
