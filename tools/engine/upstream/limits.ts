import { Transform, type TransformCallback } from 'node:stream';

/** What an upstream sent is larger than it may be. */
export class TooLarge extends Error {
  constructor(mostBytes: number) {
    super(`It is larger than ${mostBytes} bytes.`);
  }
}

/** What is sent on in the place of an answer that is too large; undefined where it answers nothing. */
export type Instead = () => string | undefined;

/** Holds what comes until it is whole, and lets go of it where it becomes too large to be. */
abstract class Limit extends Transform {
  readonly #mostBytes: number;
  readonly #instead: Instead;
  #parts: Buffer[] = [];
  #size = 0;
  #ended = false;

  constructor(mostBytes: number, instead: Instead) {
    super();
    this.#mostBytes = mostBytes;
    this.#instead = instead;
  }

  /** Takes a chunk apart by `keep` and `letGo`. */
  protected abstract split(chunk: Buffer, done: TransformCallback): void;
  /** The text that says `instead` in the format of the stream. */
  protected abstract inFormat(instead: string): string;

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    if (this.#ended) done();
    else this.split(chunk, (error) => done(error ?? (this.#size > this.#mostBytes ? this.#giveUp() : undefined)));
  }

  override _flush(done: TransformCallback): void {
    this.letGo();
    done();
  }

  #giveUp(): Error | undefined {
    this.#parts = [];
    this.#ended = true;
    const instead = this.#instead();
    if (instead === undefined) return new TooLarge(this.#mostBytes);
    this.push(this.inFormat(instead));
    this.push(null);
    return undefined;
  }

  protected keep(part: Buffer): void {
    this.#parts.push(part);
    this.#size += part.length;
  }

  protected letGo(): void {
    if (this.#size > 0 && !this.#ended) this.push(Buffer.concat(this.#parts));
    this.#parts = [];
    this.#size = 0;
  }
}

/** For a JSON body. */
export class BodyLimit extends Limit {
  protected split(chunk: Buffer, done: TransformCallback): void {
    this.keep(chunk);
    done();
  }

  protected inFormat(instead: string): string {
    return instead;
  }
}

/** For a stream of server-sent events: limits each of them, and holds up a flood of small ones. */
export class EventLimit extends Limit {
  readonly #pace = new Pace();
  /** The last bytes of the chunk before, in which the end of an event may have begun. */
  #before: Buffer = Buffer.alloc(0);

  protected split(chunk: Buffer, done: TransformCallback): void {
    const known = this.#before.length;
    const seen = Buffer.concat([this.#before, chunk]);
    const { count, end } = eventsIn(seen, known);
    this.#before = seen.subarray(-2);
    if (count > 0) {
      this.keep(chunk.subarray(0, end - known));
      this.letGo();
    }
    this.keep(chunk.subarray(count > 0 ? end - known : 0));
    if (this.#pace.isFull(count)) setTimeout(done, Pace.pauseMs);
    else done();
  }

  protected inFormat(instead: string): string {
    return `event: message\ndata: ${instead}\n\n`;
  }
}

/** Events that end behind the first `known` bytes, and where the last of them does. An empty line ends an event. */
function eventsIn(chunk: Buffer, known: number): { count: number; end: number } {
  let [count, end] = [0, 0];
  for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', at + 1)) {
    const next = chunk[at + 1] === CARRIAGE_RETURN ? at + 2 : at + 1;
    if (chunk[next] !== LINE_FEED || next < known) continue;
    count += 1;
    end = next + 1;
  }
  return { count, end };
}

const CARRIAGE_RETURN = 13;
const LINE_FEED = 10;

/** Messages that are read in one go. */
const MOST_AT_ONCE = 500;

/** Leaves the event loop to others between many messages, and by that holds up who sends them faster than they can be of use. */
export class Pace {
  static readonly pauseMs = 10;
  #taken = 0;

  /** Counts these messages; whether a pause is due before more are read. */
  isFull(messages: number): boolean {
    this.#taken += messages;
    if (this.#taken < MOST_AT_ONCE) return false;
    this.#taken = 0;
    return true;
  }
}
