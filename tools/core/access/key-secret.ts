import { hash, randomInt, timingSafeEqual } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** How the secret of each kind of credential begins. */
const FORMS = {
  key: { mark: 'ak', form: /^ak_([0-9A-Za-z]{8})_[0-9A-Za-z_-]{40,200}$/ },
  capsule: { mark: 'cpt', form: /^cpt_([0-9A-Za-z]{8})_[0-9A-Za-z_-]{40,200}$/ },
  /** Of an OAuth client that can hold one. */
  client: { mark: 'ocs', form: /^ocs_([0-9A-Za-z]{8})_[0-9A-Za-z_-]{40,200}$/ },
  access: { mark: 'oat', form: /^oat_([0-9A-Za-z]{8})_[0-9A-Za-z_-]{40,200}$/ },
  refresh: { mark: 'ort', form: /^ort_([0-9A-Za-z]{8})_[0-9A-Za-z_-]{40,200}$/ },
} as const;
type SecretKind = keyof typeof FORMS;

/** A new secret, for a key `ak_<8 characters prefix>_<43 characters>`. It has 256 bits, is shown once and is never stored. */
export function newSecret(kind: SecretKind): string {
  return `${FORMS[kind].mark}_${random(8)}_${random(43)}`;
}

/** The prefix of the secret, by which its holder is found. Undefined for a text that is not a secret of this kind. */
export function prefixOf(kind: SecretKind, secret: string): string | undefined {
  return FORMS[kind].form.exec(secret)?.[1];
}

const MARKS = Object.values(FORMS).map(({ mark }) => mark);
const ANY = new RegExp(`\\b((?:${MARKS.join('|')})_[0-9A-Za-z]{8}_)[0-9A-Za-z_-]{40,200}`, 'g');
export const LONGEST_SECRET = 220;
const SHORTEST_SECRET = 51;

/** The text with the prefixes alone of the secrets in it: callers paste them where they do not belong, and audit entries, logs and traces stay. */
export function withoutCredentials(text: string): string {
  return text.length < SHORTEST_SECRET ? text : text.replace(ANY, '$1…');
}

/** SHA-256 in hex. A plain hash is enough, because the secret has 256 random bits. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Compares in constant time. */
export function secretMatches(secret: string, stored: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(secret)), Buffer.from(stored));
}

function random(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
