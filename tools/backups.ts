import { z } from 'zod';
import { type Backup, backup } from '../resources/backup.ts';
import { pageOf, paging } from '../resources/fields.ts';
import type { Context } from './core/registry/context.ts';
import { CREATES, defineTool, READS } from './core/registry/define-tool.ts';
import { listPage, readerOf } from './core/registry/paging.ts';

/** The backups that this server makes by itself. */
export interface Backups {
  /** Those of its own data folder and of others in the folder, newest first. */
  list(): Promise<readonly Backup[]>;
  /** Makes one now. @throws StoreBusy, if the message says why it could not be made */
  make(): Promise<Backup>;
  /** What is known without asking the disk. */
  state(): BackupState;
}

export interface BackupState {
  /** The newest verified one of this data folder. */
  readonly last: Backup | undefined;
  /** `failed`: the last attempt failed, or the folder cannot be written. `old`: none was made for two periods of the schedule. */
  readonly status: 'ok' | 'failed' | 'old';
  /** Where the status is not `ok`: what is wrong, and what to do. */
  readonly problem?: string;
  /** Since when one is being made. */
  readonly makingSince?: Date | undefined;
}

declare module './core/registry/context.ts' {
  interface ServerContext {
    /** Absent if this server makes none. */
    readonly backups?: Backups | undefined;
  }
}

const listBackups = defineTool({
  name: 'list_backups',
  title: 'List backups',
  description:
    'List the backups of this server, newest first, with size and whether each was verified. Returns a page with `nextCursor`.',
  keywords: 'copies of the data, when was the last backup, snapshots of the server, when was the last backup',
  access: { scope: 'admin', grant: 'backup:read' },
  annotations: READS,
  input: z.strictObject(paging),
  output: pageOf(backup),
  errors: ['conflict'],

  async handler(input, context) {
    const kept = await backupsOf(context).list();
    const records = kept.map((each) => ({ ...each, id: each.name, createdAt: each.at }));
    return listPage(readerOf(records), input, {}, (record) => record);
  },
});

const createBackup = defineTool({
  name: 'create_backup',
  title: 'Create backup',
  description:
    'Make a backup of everything that is stored now, beside those made by schedule. Returns it once it is complete and verified.',
  keywords:
    'save a copy of everything, disaster recovery, export, dump, snapshot, back up everything, save a copy of all data',
  access: { scope: 'admin', grant: 'backup:write' },
  annotations: CREATES,
  inSteps: true,
  input: z.strictObject({}),
  output: backup,
  errors: ['conflict'],

  handler(_, context) {
    const backups = backupsOf(context);
    const since = backups.state().makingSince?.toISOString();
    if (since === undefined) return backups.make();
    throw context.fail(
      'conflict',
      `A backup is being made since ${since}. Call create_backup again when list_backups shows it, for one that holds what was stored since.`,
    );
  },
});

function backupsOf({ server, fail }: Pick<Context<never, 'conflict'>, 'server' | 'fail'>): Backups {
  if (server.backups) return server.backups;
  const why =
    server.storeKind === 'postgres'
      ? 'The data is in a PostgreSQL database, which this server does not back up; use pg_dump, see the guide "Run on PostgreSQL".'
      : 'This server makes no backups; start it with BACKUP_FOLDER set to a folder, best on another disk.';
  throw fail('conflict', why);
}

export const backupTools = [listBackups, createBackup];
