import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { StoreDamaged } from '../../errors.ts';

export const SNAPSHOT = 'db.json';
export const SNAPSHOT_DRAFT = 'db.json.tmp';
export const LOCK = 'lock.json';
export const AUDIT = 'audit';
/** Signed statements about the audit log, in its folder. */
export const HEADS = 'heads.ndjson';
/** How far the journal and the audit segments reached. */
export const MANIFEST = 'manifest';
/** The key that encrypts the secrets in the records. Backups do not contain it, since they contain the secrets. */
export const SECRETS_KEY = 'secrets.key';
/** The secret in the hashes of the inputs of calls that may be repeated. Backups do not contain it, since they contain the hashes. */
export const IDEMPOTENCY_SECRET = 'repeats-secret';
/** The secret that signs the proof of the audit log. Backups do not contain it, since they contain the log. */
export const AUDIT_SECRET = 'audit-secret';
export const BACKUP_FACTS = 'backup.json';
/** Files of documents, each named by the id of its record. */
export const STORED_FILES = 'files';

const JOURNAL = /^journal-(\d{8,})\.ndjson$/;

export function journalPath(folder: string, generation: number): string {
  return join(folder, `journal-${String(generation).padStart(8, '0')}.ndjson`);
}

export function isJournal(name: string): boolean {
  return JOURNAL.test(name);
}

export function journalsIn(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => JOURNAL.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

const RESTORE = 'Stop the server and restore a backup made with `npm run backup`.';

/** `place` names the file and line. `rescue` says what else the operator can do and what that loses. */
export function damaged(place: string, what: string, rescue = ''): StoreDamaged {
  return new StoreDamaged(`${place}: ${what}. ${RESTORE}${rescue && ` ${rescue}`}`);
}
