/** One message of PostgreSQL's protocol. The first of a connection has no type. */
export interface WireMessage {
  readonly type: string;
  readonly bytes: Buffer;
  /** What it holds after type and length, without the zero at its end. */
  text(): string;
}

/** Of a start of the protocol 3. Others ask for encryption, or to cancel. */
const START = 3;

/** Cuts one direction of a connection into its messages. Connections that do not begin with the protocol 3 pass as they are. */
export class WireMessages {
  #rest: Buffer = Buffer.alloc(0);
  #isStarted: boolean;
  #isOpaque = false;

  /** `from`: who sends. Only the client's first message has no type. */
  constructor(from: 'client' | 'server') {
    this.#isStarted = from === 'server';
  }

  /** The messages that are complete now. The rest waits. */
  push(bytes: Buffer): WireMessage[] {
    if (this.#isOpaque) return [opaque(bytes)];
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const messages: WireMessage[] = [];
    for (;;) {
      const head = this.#isStarted ? 1 : 0;
      if (this.#rest.length < head + 4) break;
      const length = head + this.#rest.readInt32BE(head);
      if (this.#rest.length < length) break;
      const taken = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      if (!this.#isStarted && taken.length >= 8 && taken.readInt16BE(4) !== START) {
        this.#isOpaque = true;
        const all = Buffer.concat([taken, this.#rest]);
        this.#rest = Buffer.alloc(0);
        return [...messages, opaque(all)];
      }
      const type = this.#isStarted ? String.fromCharCode(taken[0] ?? 0) : 'start';
      this.#isStarted = true;
      messages.push({ type, bytes: taken, text: () => taken.toString('utf8', head + 4).replace(/\0+$/, '') });
    }
    return messages;
  }
}

function opaque(bytes: Buffer): WireMessage {
  return { type: 'opaque', bytes, text: () => '' };
}
