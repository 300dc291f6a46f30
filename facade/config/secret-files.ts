import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../store/errors.ts';
import { AUDIT_SECRET, IDEMPOTENCY_SECRET } from '../../store/lowdb/files/folder.ts';
import {
  currentKeys,
  keptSigningKeys,
  openKeys,
  type SigningKeys,
  type StoredSigningKeys,
} from '../../tools/sign-in/issuer.ts';

const SESSION_SECRETS = 'session-secrets';
const SIGNING_KEYS = 'signing-keys.json';

export const SHORTEST_SECRET = 32;

/** One secret a line: the first signs, all are accepted. Made if there are none. @throws OperatorError */
export function readSessionSecrets(folder: string): readonly string[] {
  return readLines(join(folder, SESSION_SECRETS), 'one secret of', 'which signs everybody out');
}

/** The secret that fingerprints idempotent calls. Created if missing. @throws OperatorError */
export function readIdempotencySecret(folder: string): string {
  const [secret = ''] = readLines(
    join(folder, IDEMPOTENCY_SECRET),
    'a secret of',
    'by which calls of the last day are not known again',
  );
  return secret;
}

/** The secret behind the proof of the audit log. Created if missing. @throws OperatorError */
export function readAuditSecret(folder: string): string {
  const consequence = 'whose public key is another, which takes over what was signed before';
  const [secret = ''] = readLines(join(folder, AUDIT_SECRET), 'a secret of', consequence);
  return secret;
}

function readLines(path: string, wanted: string, consequence: string): readonly string[] {
  if (!existsSync(path)) writePrivately(path, `${randomBytes(32).toString('base64url')}\n`);
  const lines = readPrivately(path)
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  if (lines.length > 0 && lines.every((line) => line.length >= SHORTEST_SECRET)) return lines;
  throw new OperatorError(
    `${path}: write ${wanted} at least ${SHORTEST_SECRET} characters a line, or remove the file to have one made, ${consequence}.`,
  );
}

/** The signing keys of the built-in issuer. Adds a key if there is none or the newest is old. @throws OperatorError */
export function readSigningKeys(folder: string, now: Date): SigningKeys {
  const path = join(folder, SIGNING_KEYS);
  const text = existsSync(path) ? readPrivately(path) : undefined;
  const [current, keys] = parseKeys(path, text, now);
  const next = `${JSON.stringify(current, null, 2)}\n`;
  if (next !== text) writePrivately(path, next);
  return keys;
}

function parseKeys(path: string, text: string | undefined, now: Date): [StoredSigningKeys, SigningKeys] {
  try {
    const current = currentKeys(text === undefined ? undefined : keptSigningKeys.parse(JSON.parse(text)), now);
    return [current, openKeys(current)];
  } catch (cause) {
    const problem = `${path} does not hold the keys that sign ID tokens; restore it, or remove it to have new ones made.`;
    throw new OperatorError(problem, { cause });
  }
}

function readPrivately(path: string): string {
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  return readFileSync(path, 'utf8');
}

/** After a crash, the file is either the old or the new one. */
function writePrivately(path: string, text: string): void {
  const draft = `${path}.tmp`;
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
  const file = openSync(draft, 'w', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}
