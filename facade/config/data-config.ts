import { Cron } from 'croner';
import { z } from 'zod';
import { scheduleProblem } from '../../tools/flows/schedule.ts';
import type { StorageLimits } from '../../tools/usage/storage-meter.ts';

export const backupEnvironment = {
  BACKUP_FOLDER: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder for backups that the server makes by itself, best on another disk. Default: none are made. DATABASE_URL: use pg_dump.',
    ),
  BACKUP_SCHEDULE: z
    .string()
    .default('daily')
    .superRefine((text, { addIssue }) => {
      const message = backupScheduleProblem(text);
      if (message) addIssue({ code: 'custom', message });
    })
    .describe(
      'When: hourly, daily (at 3:00), weekly, monthly, never, or five fields of cron, in the time zone of the machine (TZ).',
    ),
  BACKUP_KEEP: z.coerce
    .number({ error: 'must be a whole number from 1 to 10000' })
    .int()
    .min(1)
    .max(10_000)
    .default(7)
    .describe('How many backups are kept; older ones are removed after a new one was verified.'),
};

/** Undefined: the server makes no backups. `schedule`: one of the words, or an expression of cron. */
export function backupSettings(given: z.output<z.ZodObject<typeof backupEnvironment>>) {
  const { BACKUP_FOLDER: folder, BACKUP_SCHEDULE: schedule, BACKUP_KEEP: keep } = given;
  return folder === undefined ? undefined : { folder, schedule, keep };
}
export type BackupSettings = Readonly<NonNullable<ReturnType<typeof backupSettings>>>;

const WORDS: Readonly<Record<string, string>> = {
  hourly: '0 * * * *',
  daily: '0 3 * * *',
  weekly: '0 3 * * 0',
  monthly: '0 3 1 * *',
};

export const NEVER = 'never';

/** Why the text is not a schedule. Undefined if it is one. */
function backupScheduleProblem(text: string): string | undefined {
  if (text === NEVER) return undefined;
  const problem = scheduleProblem(WORDS[text] ?? text, Intl.DateTimeFormat().resolvedOptions().timeZone);
  const words = [...Object.keys(WORDS), NEVER].join(', ');
  return problem && `must be ${words}, or five fields of cron like "30 2 * * *" (${problem})`;
}

/** The next time of the schedule, in the time zone of this machine. Undefined if there is none. */
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

const MIB = 1024 * 1024;
/** Everything is in memory in the embedded store. */
const EMBEDDED_MB = 1024;
const DATABASE_MB = 10_240;

const megabytes = z.coerce
  .number({ error: 'must be a number of MB, at least 0' })
  .min(0)
  .max(1024 * 1024);

export const storageEnvironment = {
  STORAGE_LIMIT_MB: megabytes
    .optional()
    .describe(
      `The most that all states of records may take, in MB of 1,048,576 bytes; 0 sets no limit. Default: ${EMBEDDED_MB} in the embedded store, ${DATABASE_MB} in a database.`,
    ),
  STORAGE_LIMIT_PER_CALLER_MB: megabytes
    .default(256)
    .describe('The same for what each key, capsule, app or person has written; 0 sets no limit.'),
};

const variables = z.object({ ...storageEnvironment, DATABASE_URL: z.string().optional() });

export function storageLimits({
  DATABASE_URL: database,
  STORAGE_LIMIT_MB: workspace = database === undefined ? EMBEDDED_MB : DATABASE_MB,
  STORAGE_LIMIT_PER_CALLER_MB: caller,
}: z.output<typeof variables>): StorageLimits {
  return { workspace: Math.floor(workspace * MIB), caller: Math.floor(caller * MIB) };
}
