import { createHash, randomInt, timingSafeEqual } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORM = /^ak_([0-9A-Za-z]{8})_[0-9A-Za-z_-]{40,200}$/;

/** A new API key secret, `ak_<8 characters prefix>_<43 characters>`: 256 bits, shown once and never stored. */
export function newKeySecret(): string {
  return `ak_${random(8)}_${random(43)}`;
}

/** The prefix by which a key is found, or undefined for what has not the form of a key. */
export function prefixOf(secret: string): string | undefined {
  return FORM.exec(secret)?.[1];
}

/** SHA-256 in hex. A plain hash is enough: the secret has 256 bits of its own. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** In constant time. */
export function secretMatches(secret: string, hash: string): boolean {
  return timingSafeEqual(Buffer.from(hashSecret(secret)), Buffer.from(hash));
}

function random(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}
