import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** `<prefix>_` and a UUIDv7 as 26 characters of Crockford base 32. Ids that are made later sort later. */
export function newId(prefix: string): string {
  const { msecs, seq } = nextMoment();
  v7({ msecs, seq, random: nextRandom() }, bytes);
  let buffer = 0;
  let bits = 2;
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    buffer = (buffer << 8) | (bytes[at] ?? 0);
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text[length] = ALPHABET.charCodeAt((buffer >>> bits) & 31);
      length += 1;
    }
    buffer &= (1 << bits) - 1;
  }
  return `${prefix}_${text.toString('latin1')}`;
}

const bytes = new Uint8Array(16);
const text = Buffer.alloc(26);

const LAST_SEQ = 0xffff_ffff;
const last = { msecs: 0, seq: 0 };

/** A moment later than the one before, also within one millisecond and after the clock was set back. */
function nextMoment(): { readonly msecs: number; readonly seq: number } {
  const msecs = Date.now();
  if (msecs > last.msecs) {
    last.msecs = msecs;
    last.seq = nextRandom().readUInt32BE() >>> 1;
  } else if (last.seq < LAST_SEQ) last.seq += 1;
  else {
    last.msecs += 1;
    last.seq = 0;
  }
  return last;
}

const pool = Buffer.alloc(16 * 256);
let used = pool.length;

/** 16 random bytes. They are taken from the system many at a time, because one request for each id would cost more than the rest. */
function nextRandom(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 16;
  return pool.subarray(used - 16, used);
}
