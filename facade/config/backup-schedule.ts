import { Cron } from 'croner';
import { scheduleProblem } from '../../tools/flows/schedule.ts';

const WORDS: Readonly<Record<string, string>> = {
  hourly: '0 * * * *',
  daily: '0 3 * * *',
  weekly: '0 3 * * 0',
  monthly: '0 3 1 * *',
};

/** No backup is made by schedule. */
export const NEVER = 'never';

/** Why the text is not a schedule. Undefined if it is one. */
export function backupScheduleProblem(text: string): string | undefined {
  if (text === NEVER) return undefined;
  const problem = scheduleProblem(WORDS[text] ?? text, Intl.DateTimeFormat().resolvedOptions().timeZone);
  const words = [...Object.keys(WORDS), NEVER].join(', ');
  return problem && `must be ${words}, or five fields of cron like "30 2 * * *" (${problem})`;
}

/** The first time of the schedule after this one, in the time zone of this machine. Undefined if there is none. */
export function nextTime(schedule: string, after: Date): Date | undefined {
  if (schedule === NEVER) return undefined;
  return new Cron(WORDS[schedule] ?? schedule, { paused: true, mode: '5-part' }).nextRun(after) ?? undefined;
}

/** Whether two times of the schedule have passed since then. */
export function isOverdue(schedule: string, last: Date, now: Date): boolean {
  const next = nextTime(schedule, last);
  const second = next && nextTime(schedule, next);
  return second !== undefined && second < now;
}
