import { z } from 'zod';
import { backupScheduleProblem } from './backup-schedule.ts';

/** The environment variables for backups that the server makes by itself. */
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

const variables = z.object(backupEnvironment);

export interface BackupSettings {
  readonly folder: string;
  /** One of the words, or an expression of cron. */
  readonly schedule: string;
  readonly keep: number;
}

/** Undefined: the server makes no backups. */
export function backupSettings(given: z.output<typeof variables>): BackupSettings | undefined {
  const { BACKUP_FOLDER: folder, BACKUP_SCHEDULE: schedule, BACKUP_KEEP: keep } = given;
  return folder === undefined ? undefined : { folder, schedule, keep };
}
