import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { listBackups } from '../../store/lowdb/retained-backups.ts';
import { isOverdue, NEVER } from '../config/backup-schedule.ts';
import type { Config } from '../config/config.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

const ABOUT = 'backups';

/** Whether backups are made, can be made, and how old the last one is. */
export async function checkBackups({ backups, dataDir, databaseUrl }: Config): Promise<Finding[]> {
  if (databaseUrl !== undefined) {
    const unused = backups ? 'BACKUP_FOLDER has no effect with DATABASE_URL. ' : '';
    const text = `${unused}Back the database up with pg_dump: see the guide "Run on PostgreSQL".`;
    return [backups ? warn(ABOUT, text) : ok(ABOUT, text)];
  }
  if (!backups) return [warn(ABOUT, 'None are made: set BACKUP_FOLDER to a folder, best on another disk.')];
  const folder = resolve(backups.folder);
  const place = existing(folder);
  if (!statSync(place).isDirectory()) return [fail(ABOUT, `${place} is not a folder; set BACKUP_FOLDER to one.`)];
  try {
    accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return [fail(ABOUT, `${place} cannot be written by this user; chown it, or set BACKUP_FOLDER.`)];
  }
  const source = existing(resolve(dataDir));
  const isTogether = statSync(place).dev === statSync(source).dev;
  const near = isTogether ? [warn(ABOUT, `${folder} is on the disk of the data, and lost with it; use another.`)] : [];
  return [await aboutLast(folder, resolve(dataDir), backups.schedule), ...near];
}

async function aboutLast(folder: string, dataDir: string, schedule: string): Promise<Finding> {
  const own = (await listBackups(folder)).filter(({ source }) => source === dataDir);
  const last = own.find(({ verified }) => verified);
  if (!last) return warn(ABOUT, `${folder} holds none of ${dataDir} yet; start the server, which makes one.`);
  const now = new Date();
  const hours = Math.round((now.getTime() - Date.parse(last.at)) / 3_600_000);
  const made = `The last one is ${hours} h old (${last.name}, ${last.records} records)`;
  if (isOverdue(schedule, new Date(last.at), now))
    return warn(ABOUT, `${made}, older than it should be; see the log of the server, or start it.`);
  return ok(
    ABOUT,
    `${made} and was checked; ${schedule === NEVER ? 'none are made by schedule' : `next: ${schedule}`}.`,
  );
}

/** The folder, or where it is not there yet, what it would be made in. */
function existing(folder: string): string {
  let place = folder;
  while (!existsSync(place)) place = dirname(place);
  return place;
}
