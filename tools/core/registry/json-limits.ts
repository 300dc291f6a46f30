/** What JSON may hold. It is checked before anything parses the JSON or walks over it. */
export interface JsonLimits {
  /** Names of objects and items of arrays, counted together. */
  readonly members: number;
  /** Arrays and objects inside each other. */
  readonly levels: number;
}

/** Of what a caller sends, at every door: more than any input needs but those of tools that take bulk data. */
export const INPUT_LIMITS: JsonLimits = { members: 10_000, levels: 64 };
/** Of the input of a tool that takes bulk data. */
export const BULK_LIMITS: JsonLimits = { ...INPUT_LIMITS, members: 600_000 };

/** What the input of a tool may hold. */
export function inputLimitsOf({ bulk }: { readonly bulk?: true | undefined }): JsonLimits {
  return bulk ? BULK_LIMITS : INPUT_LIMITS;
}

export type ExceededLimit = keyof JsonLimits;

/** Counts the members and levels of JSON while its bytes come in. For bytes that are no JSON the counts mean nothing: a parser refuses them later. */
export class JsonLimitCounter {
  readonly bounds: JsonLimits;
  #members = 0;
  #levels = 0;
  #inString = false;
  /** The byte before was a backslash of a string. */
  #escaped = false;
  /** True directly after the opening bracket of an object or array. */
  #opened = false;
  #looked = 0;
  #excess: ExceededLimit | undefined;

  constructor(bounds: JsonLimits) {
    this.bounds = bounds;
  }

  get members(): number {
    return this.#members;
  }

  /** The number of bytes read so far. */
  get looked(): number {
    return this.#looked;
  }

  /** Reads the next bytes. Returns what the JSON has too much of; after that, nothing more is read. */
  feed(bytes: Buffer): ExceededLimit | undefined {
    let at = 0;
    while (at < bytes.length && this.#excess === undefined) {
      at = this.#inString ? this.#skipString(bytes, at) : this.#skipOthers(bytes, at);
    }
    this.#looked += at;
    return this.#excess;
  }

  /** Moves behind the end of the string, or of the bytes. */
  #skipString(bytes: Buffer, from: number): number {
    let escaped = this.#escaped;
    let at = from;
    for (let inString = true; inString && at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (escaped) escaped = false;
      else if (byte === BACKSLASH) escaped = true;
      else if (byte === QUOTE) inString = this.#inString = false;
    }
    this.#escaped = escaped;
    return at;
  }

  /** Moves behind the beginning of the next string, to where there is too much of something, or to the end of the bytes. */
  #skipOthers(bytes: Buffer, from: number): number {
    const { members: most, levels: deepest } = this.bounds;
    let [members, levels, opened] = [this.#members, this.#levels, this.#opened];
    let at = from;
    while (at < bytes.length && members <= most && levels <= deepest && !this.#inString) {
      const byte = bytes[at] ?? 0;
      at += 1;
      if (byte <= SPACE) continue;
      const opens = byte === OPEN_BRACE || byte === OPEN_BRACKET;
      const closes = byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
      if (byte === COMMA || (opened && !closes)) members += 1;
      if (opens) levels += 1;
      else if (closes) levels -= 1;
      else if (byte === QUOTE) this.#inString = true;
      opened = opens;
    }
    [this.#members, this.#levels, this.#opened] = [members, levels, opened];
    if (members > most) this.#excess = 'members';
    else if (levels > deepest) this.#excess = 'levels';
    return at;
  }
}

/** What the JSON has too much of. */
export function exceededLimit(json: Buffer, bounds: JsonLimits): ExceededLimit | undefined {
  return new JsonLimitCounter(bounds).feed(json);
}

const [SPACE, QUOTE, COMMA, BACKSLASH] = [0x20, 0x22, 0x2c, 0x5c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
