import type { Progress } from '../registry/call.ts';

/** Control characters except tab and line feed, and characters that are invisible or reverse the direction of text. */
const INVISIBLE = /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Text of another server in a form that is safe to show: without hidden characters and not too long. */
export function cleanText(text: string, longest: number): string {
  const shown = text
    .slice(0, longest * 2)
    .toWellFormed()
    .replace(INVISIBLE, (character) => (character === '\n' || character === '\t' ? character : ''))
    .trim();
  return shown.length > longest ? `${shown.slice(0, longest - 1).toWellFormed()}…` : shown;
}

/** Shorter secrets are not searched for: replacing every `1` or `true` would spoil other text. */
const SHORTEST_SECRET = 8;
const REDACTED = '[redacted]';

/** Removes secrets from what other servers, which were sent them, say. */
export class Scrubber {
  readonly #secrets: () => readonly string[];
  #count = 0;
  #needles: RegExp | undefined;

  /** `secrets`: a function where others may be added later. */
  constructor(secrets: readonly string[] | (() => readonly string[])) {
    this.#secrets = typeof secrets === 'function' ? secrets : () => secrets;
  }

  text(text: string): string {
    if (text.length < SHORTEST_SECRET) return text;
    const secrets = this.#secrets();
    if (secrets.length !== this.#count) this.#needles = needlesOf(secrets);
    this.#count = secrets.length;
    return this.#needles ? text.replace(this.#needles, REDACTED) : text;
  }

  shown(text: string, longest = 200): string {
    return cleanText(this.text(text), longest);
  }

  /** An error with the same code, without the secrets, which it could also hold in other members. */
  error({ name, message, stack = '', code }: NodeJS.ErrnoException): Error {
    const scrubbed = new Error(this.text(message));
    return Object.assign(scrubbed, { name, stack: this.text(stack), ...(code !== undefined && { code }) });
  }

  progress({ message, ...numbers }: Progress): Progress {
    return message === undefined ? numbers : { ...numbers, message: this.shown(message) };
  }

  /** The JSON value without secrets in its texts and member names, and fit to be stored. @throws RangeError if it nests too deeply */
  json(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.text(storable(value));
    if (typeof value !== 'object' || value === null) return value;
    if (depth > DEEPEST) throw new RangeError('nested too deep');
    if (Array.isArray(value)) return value.map((item) => this.json(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [this.text(storable(name)), this.json(item, depth + 1)]),
    );
  }
}

function needlesOf(secrets: readonly string[]): RegExp | undefined {
  const forms = secrets
    .flatMap((secret) => [secret, ...secret.split(/\s+/)])
    .filter((part) => part.length >= SHORTEST_SECRET);
  const encoded = forms.flatMap(encodings);
  // The longest first, so that a form that contains another one is removed as a whole.
  const needles = [...new Set(encoded)].sort((one, other) => other.length - one.length);
  return needles.length > 0 ? new RegExp(needles.map(literally).join('|'), 'g') : undefined;
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

const DEEPEST = 64;

function storable(text: string): string {
  return text.includes('\0') || !text.isWellFormed() ? text.toWellFormed().replaceAll('\0', '\ufffd') : text;
}

/** The forms in which servers repeat what they were sent. */
function encodings(text: string): string[] {
  const json = inJson(text);
  const percent = encodeURIComponent(text);
  const hex = Buffer.from(text).toString('hex');
  return [
    ...[text, json, inJson(json)],
    ...[
      percent,
      percent.replace(/%../g, (code) => code.toLowerCase()),
      String(new URLSearchParams({ '': text })).slice(1),
    ],
    ...[
      text.replace(/[&<>"']/g, (mark) => HTML[mark] ?? mark),
      text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`),
    ],
    ...[hex, hex.toUpperCase()],
    ...base64Forms(text),
  ];
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** In the middle of other text, base64 encodes a text in one of three ways. The characters at both ends depend on the neighbouring text. */
function base64Forms(text: string): string[] {
  return [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), Buffer.from(text)])
      .toString('base64')
      .replace(/=+$/, '');
    const own = encoded.slice(shift === 0 ? 0 : shift + 1, -1);
    const url = own.replaceAll('+', '-').replaceAll('/', '_');
    return own.length >= SHORTEST_SECRET ? [own, url] : [];
  });
}
