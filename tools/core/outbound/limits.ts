import { setTimeout as delay } from 'node:timers/promises';
import { exceededLimit } from '../registry/json-limits.ts';

/** The deepest nesting of a message. Code that walks over a message could follow far deeper ones. */
export const DEEPEST = 100;
export const MOST_MEMBERS = 150_000;

export type Fault = 'too_large' | 'broken';

export const FAULT_CODES = { too_large: -32_099, broken: -32_098 } as const satisfies Record<Fault, number>;

const FAULTS: Record<Fault, string> = {
  too_large: 'The answer is too large or nests too deep.',
  broken: 'The connection broke off.',
};

export function answerWith(fault: Fault, id: string | number) {
  return { jsonrpc: '2.0' as const, id, error: { code: FAULT_CODES[fault], message: FAULTS[fault] } };
}

/** The message to pass on in place of one with this fault. Undefined if the faulty message answers no request. */
export type Replacement = (fault: Fault) => string | undefined;

export function isExcessive(message: Buffer): boolean {
  return exceededLimit(message, { members: MOST_MEMBERS, levels: DEEPEST }) !== undefined;
}

class TooLarge extends Error {
  constructor(mostBytes: number) {
    super(
      `It is larger than ${mostBytes} bytes, has more than ${MOST_MEMBERS} members, or nests deeper than ${DEEPEST} levels.`,
    );
  }
}

type Source = AsyncIterable<Buffer>;

/** Passes on a body when it has arrived in full and is not too large. Else passes on what `instead` gives. */
export async function* limitBody(source: Source, mostBytes: number, instead: Replacement): AsyncGenerator<Buffer> {
  const held = new Held(mostBytes);
  for await (const chunk of source) {
    held.add(chunk);
    if (held.isTooLarge) return yield Buffer.from(insteadOf(instead, mostBytes));
  }
  const body = held.take();
  yield isExcessive(body) ? Buffer.from(insteadOf(instead, mostBytes)) : body;
}

/** Passes on a file as it arrives. @throws FileTooLarge */
export async function* limitFile(source: Source, mostBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > mostBytes) throw new FileTooLarge(`It is larger than ${mostBytes} bytes.`);
    yield chunk;
  }
}

/** Passes on as much of a body as fits, and one byte more if there is more. */
export async function* cutBody(source: Source, mostBytes: number): AsyncGenerator<Buffer> {
  let left = mostBytes + 1;
  for await (const chunk of source) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

export class FileTooLarge extends Error {}

/** Passes on server-sent events, each when it has arrived in full and is not too large, and not too many at once. */
export async function* limitEvents(source: Source, mostBytes: number, instead: Replacement): AsyncGenerator<Buffer> {
  const held = new Held(mostBytes);
  const pace = new Pace();
  try {
    for await (const chunk of source) {
      let from = 0;
      for (const end of held.eventEnds(chunk)) {
        held.add(chunk.subarray(from, end));
        from = end;
        const isTooLarge = held.isTooLarge;
        const event = held.take();
        if (isTooLarge || isExcessive(event)) return yield asEvent(insteadOf(instead, mostBytes));
        yield event;
        await pace.step();
      }
      held.add(chunk.subarray(from));
      if (held.isTooLarge) return yield asEvent(insteadOf(instead, mostBytes));
    }
    yield held.take();
  } catch (error) {
    const answer = error instanceof TooLarge ? undefined : instead('broken');
    if (answer === undefined) throw error;
    yield asEvent(answer);
  }
}

function insteadOf(instead: Replacement, mostBytes: number): string {
  const answer = instead('too_large');
  if (answer === undefined) throw new TooLarge(mostBytes);
  return answer;
}

function asEvent(data: string): Buffer {
  return Buffer.from(`event: message\ndata: ${data}\n\n`);
}

/** The bytes that have arrived and are not passed on yet. Once they are too many, they are dropped. */
class Held {
  readonly #mostBytes: number;
  #parts: Buffer[] = [];
  #size = 0;
  /** The last bytes that arrived. The end of an event may begin in them. */
  #last: Buffer = Buffer.alloc(0);

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get isTooLarge(): boolean {
    return this.#size > this.#mostBytes;
  }

  add(part: Buffer): void {
    this.#size += part.length;
    if (this.isTooLarge) this.#parts = [];
    else this.#parts = withPartLimit(this.#parts, part);
  }

  take(): Buffer {
    const taken = Buffer.concat(this.#parts);
    [this.#parts, this.#size] = [[], 0];
    return taken;
  }

  /** The offsets in the chunk at which events end: after each empty line. */
  eventEnds(chunk: Buffer): number[] {
    const known = this.#last.length;
    const seen = Buffer.concat([this.#last, chunk]);
    this.#last = seen.subarray(-2);
    const ends: number[] = [];
    for (let at = seen.indexOf('\n'); at >= 0; at = seen.indexOf('\n', at + 1)) {
      const next = seen[at + 1] === CARRIAGE_RETURN ? at + 2 : at + 1;
      if (seen[next] === LINE_FEED && next >= known) ends.push(next + 1 - known);
    }
    return ends;
  }
}

const MOST_PARTS = 1000;

/** Adds a part. Many small parts are joined, because each takes more memory than its bytes. */
export function withPartLimit(parts: Buffer[], part: Buffer): Buffer[] {
  parts.push(part);
  return parts.length > MOST_PARTS ? [Buffer.concat(parts)] : parts;
}

const CARRIAGE_RETURN = 13;
const LINE_FEED = 10;

const MOST_AT_ONCE = 100;
const PAUSE_MS = 10;

/** Lets other work run after each group of messages. This also slows down a sender who sends too fast. */
export class Pace {
  #taken = 0;

  step(): Promise<void> | undefined {
    this.#taken += 1;
    return this.#taken % MOST_AT_ONCE === 0 ? delay(PAUSE_MS) : undefined;
  }
}
