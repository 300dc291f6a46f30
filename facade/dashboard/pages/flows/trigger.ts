/** What starts a flow, in words. */
export function triggerWords(trigger: unknown): string {
  const { kind, expression, timezone, type } = (trigger ?? {}) as Readonly<Record<string, string>>; // as the schema of a flow says
  if (kind === 'cron') return `${scheduleWords(expression ?? '')}, ${timezone}`;
  if (kind === 'event') return `On ${type}`;
  return kind === 'webhook' ? 'By webhook' : 'By hand';
}

/** Usual schedules; others are shown as they are written. */
const SCHEDULES: Readonly<Record<string, string>> = { '* * * * *': 'Every minute', '0 * * * *': 'Every hour' };

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

/** `0 8 * * 1` -> `Every Monday at 08:00`. What is rarer is shown as it is written. */
function scheduleWords(expression: string): string {
  const [, minute, hour, day, weekday] = /^(\d{1,2}) (\d{1,2}) (\*|1) \* (\*|[0-7])$/.exec(expression) ?? [];
  if (minute === undefined || hour === undefined || (day !== '*' && weekday !== '*')) {
    return SCHEDULES[expression] ?? `On schedule ${expression}`;
  }
  const every = day === '1' ? 'first of the month' : (DAYS[Number(weekday)] ?? 'day');
  return `Every ${every} at ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
}
