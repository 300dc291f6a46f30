/** What starts a flow, in words. */
export function triggerWords(trigger: unknown): string {
  const { kind, expression, timezone, type } = (trigger ?? {}) as Readonly<Record<string, string>>; // as the schema of a flow says
  if (kind === 'cron') return `${SCHEDULES[expression ?? ''] ?? `On schedule ${expression}`}, ${timezone}`;
  if (kind === 'event') return `On ${type}`;
  return kind === 'webhook' ? 'By webhook' : 'By hand';
}

/** Usual schedules; others are shown as they are written. */
const SCHEDULES: Readonly<Record<string, string>> = {
  '* * * * *': 'Every minute',
  '0 * * * *': 'Every hour',
  '0 0 * * *': 'Every midnight',
};
