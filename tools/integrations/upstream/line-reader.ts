import { type JSONRPCErrorResponse, type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/client';
import { answerWith, isExcessive, withPartLimit } from '../../core/outbound/limits.ts';

/** A line that is longer than this is considered endless. */
const ENDLESS_BYTES = 256 * 1024 * 1024;
/** This much of both ends of a line that is too long is kept, to find the id of the request that it answers. */
const KEPT_BYTES = 512;

/**
 * Makes messages of lines. A line that is too long is not kept; an error for the request that it answers takes its place. Lines that are
 * not messages are ignored.
 */
export class LineReader {
  readonly #mostBytes: number;
  #parts: Buffer[] = [];
  #size = 0;
  #head: Buffer = NONE;
  #tail: Buffer = NONE;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Whether the line is so long that its sender must mean harm. */
  get isEndless(): boolean {
    return this.#size > ENDLESS_BYTES;
  }

  *read(chunk: Buffer): Generator<JSONRPCMessage> {
    let from = 0;
    for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', from)) {
      this.#add(chunk.subarray(from, at));
      const message = this.#end();
      if (message) yield message;
      from = at + 1;
    }
    this.#add(chunk.subarray(from));
  }

  #add(part: Buffer): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size <= this.#mostBytes) {
      this.#parts = withPartLimit(this.#parts, part);
      return;
    }
    if (this.#head.length === 0) {
      // The tail may begin before the part with which the line became too long.
      this.#tail = Buffer.concat(this.#parts);
      this.#head = Buffer.concat([this.#tail, part]).subarray(0, KEPT_BYTES);
      this.#parts = [];
    }
    this.#tail = Buffer.concat([this.#tail, part.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES);
  }

  #end(): JSONRPCMessage | undefined {
    const message = this.#size > this.#mostBytes ? this.#tooLarge() : parseLine(Buffer.concat(this.#parts));
    [this.#parts, this.#size, this.#head, this.#tail] = [[], 0, NONE, NONE];
    return message;
  }

  #tooLarge(): JSONRPCMessage | undefined {
    const id =
      idAt(this.#tail.toString('latin1'), /"id":\s*(\d+|"[\w:.-]{1,100}")\s*\}\s*$/) ??
      idAt(this.#head.toString('latin1'), /^\s*\{[^{[]*?"id":\s*(\d+|"[\w:.-]{1,100}")/);
    return id === undefined ? undefined : answerWith('too_large', id);
  }
}

const NONE = Buffer.alloc(0);

function idAt(text: string, pattern: RegExp): string | number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : JSON.parse(found);
}

function parseLine(line: Buffer): JSONRPCMessage | undefined {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'));
    if (isIgnored(message)) return undefined;
    return isExcessive(line) ? refused(message) : parseJSONRPCMessage(message);
  } catch {
    return undefined; // other output of the program
  }
}

/** The error that replaces an answer that nests too deeply. */
function refused(message: unknown): JSONRPCErrorResponse | undefined {
  const { id, method } = message as { id?: unknown; method?: unknown }; // parsed from an object or array
  const answers = method === undefined && (typeof id === 'string' || typeof id === 'number');
  return answers ? answerWith('too_large', id) : undefined;
}

/** Whether the message is a notification that this server ignores. There may be many of them. */
function isIgnored(message: unknown): boolean {
  const { method, id } = message as { method?: unknown; id?: unknown }; // other values have no such members
  return typeof method === 'string' && id === undefined && !HEARD.has(method);
}

const HEARD = new Set([
  'notifications/progress',
  'notifications/cancelled',
  'notifications/tools/list_changed',
  'notifications/subscriptions/acknowledged',
]);
