import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** `<prefix>_` and a UUIDv7 in 26 characters of Crockford base 32: ids made later sort later. */
export function newId(prefix: string): string {
  const bytes = v7({ ...nextMoment(), random: nextRandom() }, new Uint8Array(16));
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

const LAST_SEQ = 0xffff_ffff;
let last = { msecs: 0, seq: 0 };

/** Later than the one before also within a millisecond, and when the clock goes back. */
function nextMoment(): { msecs: number; seq: number } {
  const msecs = Date.now();
  if (msecs > last.msecs) last = { msecs, seq: nextRandom().readUInt32BE() >>> 1 };
  else last = last.seq < LAST_SEQ ? { ...last, seq: last.seq + 1 } : { msecs: last.msecs + 1, seq: 0 };
  return last;
}

const pool = Buffer.alloc(16 * 256);
let used = pool.length;

/** 16 random bytes, drawn from the system many at a time: a draw of its own for each id costs more than all the rest. */
function nextRandom(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 16;
  return pool.subarray(used - 16, used);
}
