import { v7 } from 'uuid';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** `<prefix>_` and a UUIDv7 in 26 characters of Crockford base 32: ids made later sort later. */
export function newId(prefix: string): string {
  const bytes = v7(undefined, new Uint8Array(16));
  let text = '';
  let buffer = 0;
  let bits = 2;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(buffer >>> bits) & 31];
    }
    buffer &= (1 << bits) - 1;
  }
  return `${prefix}_${text}`;
}
