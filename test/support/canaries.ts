import { ENCODINGS } from './encodings.ts';

/** How a secret may look in another text: each of them is searched for. */
const FORMS: Readonly<Record<string, (secret: string) => readonly string[]>> = {
  plain: (secret) => [secret],
  encoded: (secret) => ENCODINGS.map((encode) => encode(secret)),
  // Basic authentication and data of files hold a secret in the middle of other text.
  base64: (secret) => [0, 1, 2].map((shift) => inBase64(secret, shift, 'base64')),
  base64url: (secret) => [0, 1, 2].map((shift) => inBase64(secret, shift, 'base64url')),
  reversed: (secret) => [[...secret].reverse().join('')],
  // What a secret is encoded from.
  'bytes in hex': (secret) => {
    const bytes = Buffer.from(secret, 'base64');
    return /^[\w+/-]{43}=?$/.test(secret) && bytes.length === 32 ? [bytes.toString('hex')] : [];
  },
};

/** The characters that do not depend on the neighbouring text. */
function inBase64(text: string, shift: number, encoding: 'base64' | 'base64url'): string {
  const encoded = Buffer.concat([Buffer.alloc(shift), Buffer.from(text)])
    .toString(encoding)
    .replace(/=+$/, '');
  return encoded.slice(shift === 0 ? 0 : shift + 1, -1);
}

/** Where a secret may be, and why. */
export interface AllowedPlace {
  readonly secret: RegExp;
  readonly place: RegExp;
  readonly because: string;
}

interface Needle {
  readonly secret: string;
  readonly form: string;
  readonly bytes: Buffer;
}

/** Finds planted secrets, each under a name, in whatever is looked through. */
export class Canaries {
  readonly #needles = new Map<number, Needle[]>();
  readonly #planted = new Map<string, string>();
  /** By name, place and form. */
  readonly #found = new Map<string, { readonly secret: string; readonly place: string; readonly around: string }>();
  /** Places that were looked through, with how much. */
  readonly looked = new Map<string, number>();

  /** Returns the secret. */
  plant(name: string, secret: string): string {
    if (secret.length < 12) throw new Error(`${name} is too short to be told from other text`);
    if (this.#planted.get(secret) !== undefined) return secret;
    this.#planted.set(secret, name);
    for (const [form, formsOf] of Object.entries(FORMS)) {
      for (const text of new Set(formsOf(secret))) {
        const bytes = Buffer.from(text);
        const start = bytes.readUInt32LE(0);
        const known = this.#needles.get(start) ?? [];
        if (known.some((other) => other.bytes.equals(bytes))) continue;
        this.#needles.set(start, [...known, { secret: name, form, bytes }]);
      }
    }
    return secret;
  }

  get names(): readonly string[] {
    return [...this.#planted.values()];
  }

  look(place: string, text: string | Buffer): void {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    this.looked.set(place, (this.looked.get(place) ?? 0) + bytes.length);
    let start = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      start = ((start >>> 8) | ((bytes[at] ?? 0) << 24)) >>> 0;
      const begun = at >= 3 ? this.#needles.get(start) : undefined;
      if (begun) for (const needle of begun) this.#note(needle, bytes, at - 3, place);
    }
  }

  #note({ secret, form, bytes: needle }: Needle, bytes: Buffer, at: number, place: string): void {
    if (!bytes.subarray(at, at + needle.length).equals(needle)) return;
    const key = `${secret}: ${form}, ${place}`;
    if (this.#found.has(key)) return;
    this.#found.set(key, { secret, place, around: bytes.subarray(Math.max(0, at - 120), at + 160).toString() });
  }

  /** What was found in places that are not allowed, each in a line. */
  leaks(allowed: readonly AllowedPlace[]): string[] {
    return [...this.#found]
      .filter(([, found]) => !allowed.some((row) => row.secret.test(found.secret) && row.place.test(found.place)))
      .map(([key, { around }]) => `${key}: ${JSON.stringify(around)}`);
  }

  /** Rows of the table in whose place nothing was found: the search is blind there, or the row is not needed. */
  unseen(allowed: readonly AllowedPlace[]): string[] {
    const found = [...this.#found.values()];
    return allowed
      .filter(({ secret, place }) => !found.some((each) => secret.test(each.secret) && place.test(each.place)))
      .map(({ secret, place }) => `${secret} ${place}`);
  }
}
