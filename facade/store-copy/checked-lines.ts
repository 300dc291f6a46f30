import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { OperatorError } from '../../store/errors.ts';

/** Characters of a sum, which stands before its line. It covers all lines before too, so that none can be cut out or moved. */
const SUM = 16;
const LONGEST_LINE = 256 * 1024 * 1024;
const NEWLINE = 10;

const sumOf = (before: string, json: string) => hash('sha256', `${before} ${json}`).slice(0, SUM);

/** Writes a file of JSON lines, each with its sum. The file must not exist; only its owner can read it. */
export class LineWriter {
  readonly #file: FileHandle;
  #sum = '';
  lines = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(path: string): Promise<LineWriter> {
    return new LineWriter(await open(path, 'wx', 0o600));
  }

  async write(value: object): Promise<void> {
    const json = JSON.stringify(value);
    this.#sum = sumOf(this.#sum, json);
    await this.#file.appendFile(`${this.#sum} ${json}\n`);
    this.lines += 1;
  }

  async close(): Promise<void> {
    try {
      await this.#file.sync();
    } finally {
      await this.#file.close();
    }
  }
}

export interface CheckedLine {
  /** From 1 on. */
  readonly line: number;
  readonly json: string;
}

/** The lines of such a file, in order. @throws OperatorError naming the first line that was changed or cut */
export async function* checkedLines(path: string): AsyncGenerator<CheckedLine> {
  let sum = '';
  let line = 0;
  for await (const bytes of rawLines(path)) {
    line += 1;
    const text = bytes.toString('utf8');
    const json = text.slice(SUM + 1, -1);
    sum = sumOf(sum, json);
    if (text !== `${sum} ${json}\n`) throw damaged(path, line);
    yield { line, json };
  }
}

export function damaged(path: string, line: number): OperatorError {
  return new OperatorError(
    `${path}: line ${line} is not as it was written, because the file was cut or changed. Copy the file again, or export again.`,
  );
}

/** Each with its line break; the last one may lack it. */
async function* rawLines(path: string): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  let length = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, at + 1)]);
      begun = [];
      length = 0;
      from = at + 1;
    }
    begun.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > LONGEST_LINE) break;
  }
  if (length > 0) yield Buffer.concat(begun);
}
