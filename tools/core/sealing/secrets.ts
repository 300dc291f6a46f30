import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';

/** Encrypts secrets that are stored but never shown: AES-256-GCM, bound to the place where the secret is stored. */
export interface SecretBox {
  /** `place` names the record and the member. A text sealed for one place cannot be opened at another. */
  seal(text: string, place: string): string;
  /** @throws SecretsError if the key is wrong or the text was changed */
  open(sealed: string, place: string): string;
  /** The text, sealed by the first key. Undefined if it is already, or if it cannot be opened. */
  renew(sealed: string, place: string): string | undefined;
}

declare module '../registry/context.ts' {
  interface ServerContext {
    /** Seals what tools keep and never show. */
    readonly secrets?: SecretBox;
  }
}

/** A secret cannot be read with this server's key. The message says what to do about it. */
export class SecretsError extends Error {}

const FORM = /^v1\.([0-9a-f]{8})\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{22,})$/;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** The first of these keys (32 bytes in base64 or hex) seals, all open. Without any, those of the file; one is made for the first secret. */
export function createSecretBox(given: readonly string[] | undefined, path: string): SecretBox {
  let kept = given?.map(keyFrom);

  function keys(make: boolean): readonly Key[] {
    kept ??= readKeys(path) ?? (make ? [makeKey(path)] : undefined);
    if (!kept) throw new SecretsError(`There is no key in ${path}. ${REMEDY}`);
    return kept;
  }

  function seal(text: string, place: string): string {
    const [first] = keys(true);
    if (!first) throw new SecretsError(`${path} holds no key. ${REMEDY}`);
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', first.bytes, iv).setAAD(Buffer.from(place));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `v1.${first.id}.${iv.toString('base64url')}.${body.toString('base64url')}`;
  }

  function open(sealed: string, place: string): string {
    const [, keyId = '', iv = '', body = ''] = FORM.exec(sealed) ?? [];
    if (!body) throw new SecretsError(`It is not one that this server sealed. ${REMEDY}`);
    const own = keys(false);
    const key = own.find(({ id }) => id === keyId);
    const ids = own.map(({ id }) => id).join(', ');
    if (!key) throw new SecretsError(`It was sealed with the key ${keyId}, and this server has ${ids}. ${REMEDY}`);
    return unseal(Buffer.from(body, 'base64url'), Buffer.from(iv, 'base64url'), key.bytes, place);
  }

  return {
    seal,
    open,
    renew(sealed, place) {
      try {
        return FORM.exec(sealed)?.[1] === keys(false)[0]?.id ? undefined : seal(open(sealed, place), place);
      } catch (error) {
        if (error instanceof SecretsError) return undefined; // callers that need it get the error
        throw error;
      }
    },
  };
}

/** The ids of the keys that a box with these parameters opens texts with. They reveal nothing of the keys. */
export function secretsKeyIds(given: readonly string[] | undefined, path: string): string[] {
  return (given?.map(keyFrom) ?? readKeys(path) ?? []).map(({ id }) => id);
}

/** The ids of the keys that texts in the value are sealed with. */
export function sealingKeys(value: unknown): string[] {
  if (typeof value === 'string') return FORM.exec(value)?.slice(1, 2) ?? [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(sealingKeys) : [];
}

const REMEDY = 'Start the server with the SECRETS_KEY of before, or give the secret again.';

interface Key {
  /** Identifies the key and reveals nothing of it. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** Identifies a key and reveals nothing of it. */
export function secretsKeyId(key: string): string {
  return keyFrom(key).id;
}

export function isSecretsKey(text: string): boolean {
  return bytesOf(text).length === KEY_BYTES;
}

function keyFrom(text: string): Key {
  const bytes = bytesOf(text);
  if (bytes.length !== KEY_BYTES) throw new SecretsError(`The key is not 32 bytes. ${REMEDY}`);
  const derived = Buffer.from(hkdfSync('sha256', bytes, '', 'agent-admin secrets', KEY_BYTES));
  return { id: createHash('sha256').update(derived).digest('hex').slice(0, 8), bytes: derived };
}

function bytesOf(text: string): Buffer {
  return /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
}

function readKeys(path: string): Key[] | undefined {
  try {
    return readFileSync(path, 'utf8').trim().split(/\s+/).map(keyFrom);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined; // readFileSync threw it
    throw error;
  }
}

function makeKey(path: string): Key {
  const text = randomBytes(32).toString('base64');
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return keyFrom(text);
}

function unseal(body: Buffer, iv: Buffer, key: Buffer, place: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(place));
  decipher.setAuthTag(body.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    throw new SecretsError(`It was changed after it was sealed. ${REMEDY}`);
  }
}
