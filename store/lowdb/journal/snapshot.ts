import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Adapter } from 'lowdb';
import { z } from 'zod';
import { StoreDamaged } from '../../errors.ts';
import { type OpenProgress, ReadProgress } from '../../open-progress.ts';
import type { Row } from '../../row.ts';
import { type FileSystem, type WritableFile, writeAll } from '../files/file-system.ts';
import { damaged, SNAPSHOT_DRAFT } from '../files/folder.ts';
import { assertKnown, type Format, parseRecord } from './format.ts';
import { type FileLine, hex, readLines } from './line.ts';
import type { SharedTexts } from './shared-texts.ts';

/** The header of `db.json`. The file holds everything before the journal of `generation`. */
const snapshotHeader = z.object({
  format: z.int().min(1),
  generation: z.int().min(1),
  /** The number of the last transaction in the snapshot, and the checksum of that transaction's line. */
  sequence: z.int().min(0),
  chain: z.string().regex(/^[0-9a-f]{8}$/),
});
type SnapshotHeader = z.infer<typeof snapshotHeader>;

export interface Snapshot extends SnapshotHeader {
  readonly collections: Readonly<Record<string, Iterable<Row>>>;
}

export const emptySnapshot: Snapshot = { format: 0, generation: 0, sequence: 0, chain: '', collections: {} };

const CHUNK = 256 * 1024;

interface SnapshotOptions {
  readonly files: FileSystem;
  readonly format: Format;
  readonly opening: OpenProgress;
  readonly texts: SharedTexts;
  /** Called before each chunk is written. Throwing ends the writing. */
  onChunk(): void;
}

/** Reads and writes `db.json` for lowdb. It is ordinary JSON with one record per line, so only the disk limits its size. */
export class SnapshotAdapter implements Adapter<Snapshot> {
  readonly #path: string;
  readonly #options: SnapshotOptions;

  constructor(path: string, options: SnapshotOptions) {
    this.#path = path;
    this.#options = options;
  }

  get size(): number {
    return existsSync(this.#path) ? statSync(this.#path).size : 0;
  }

  async read(): Promise<Snapshot | null> {
    if (!existsSync(this.#path)) return null;
    const lines = new CheckedLines(this.#path);
    const header = lines.header();
    assertKnown(this.#options.format, header.format, this.#path);
    const rows: Record<string, Row[]> = {};
    const reading = new ReadProgress(this.#options.opening, 'reading the records', this.size);
    for (let text = lines.next(); text !== '},'; text = lines.next()) {
      const name = /^"(\w+)":\[$/.exec(text)?.[1];
      if (name === undefined) throw lines.damaged('a collection should start here');
      rows[name] = [];
      for (let line = lines.next(); line !== ']' && line !== '],'; line = lines.next()) {
        const record = lines.try(() => JSON.parse(line.replace(/,$/, '')));
        this.#options.texts.share(record, line);
        rows[name].push(lines.try(() => parseRecord(this.#options.format, header.format, name, record)));
        if (reading.isLong) await reading.pause(lines.read);
      }
    }
    lines.end();
    return { ...header, collections: rows };
  }

  /** When this resolves, the file is durable under its final name. On failure the old file is still there. */
  async write(snapshot: Snapshot): Promise<void> {
    const draft = `${dirname(this.#path)}/${SNAPSHOT_DRAFT}`;
    await this.#options.files.remove(draft);
    const file = await this.#options.files.open(draft);
    try {
      try {
        await this.#stream(file, snapshot);
        await file.sync();
      } finally {
        await file.close();
      }
      await this.#options.files.rename(draft, this.#path);
    } catch (error) {
      await this.#options.files.remove(draft);
      throw error;
    }
    await this.#options.files.syncFolder(dirname(this.#path));
  }

  async #stream(file: WritableFile, snapshot: Snapshot): Promise<void> {
    let crc = 0;
    let position = 0;
    const put = async (text: string) => {
      this.#options.onChunk();
      const bytes = Buffer.from(text);
      crc = crc32(bytes, crc);
      await writeAll(file, bytes, position);
      position += bytes.length;
    };
    let text = '';
    for (const line of snapshotLines(snapshot)) {
      text += line;
      if (text.length < CHUNK) continue;
      await put(text);
      text = '';
    }
    await put(text);
    await put(`"checksum":"${hex(crc)}"}\n`);
  }
}

function* snapshotLines({ collections, ...header }: Snapshot): Generator<string, void> {
  yield `${JSON.stringify(header).slice(0, -1)},"collections":{\n`;
  let between = '';
  for (const [name, rows] of Object.entries(collections)) {
    yield `${between}"${name}":[\n`;
    let line = '';
    for (const row of rows) {
      if (line) yield `${line},\n`;
      line = JSON.stringify(row);
    }
    if (line) yield `${line}\n`;
    yield ']';
    between = ',\n';
  }
  yield '\n},\n';
}

class CheckedLines {
  readonly #path: string;
  readonly #lines: Generator<FileLine, void>;
  #number = 0;
  #crc = 0;
  read = 0;

  constructor(path: string) {
    this.#path = path;
    this.#lines = readLines(path);
  }

  header(): SnapshotHeader {
    return this.try(() => snapshotHeader.parse(JSON.parse(`${this.next()}}}`)));
  }

  next(): string {
    const bytes = this.#take();
    this.#crc = crc32(bytes, this.#crc);
    return bytes.toString('utf8', 0, bytes.length - 1);
  }

  end(): void {
    const text = this.#take().toString();
    if (text !== `"checksum":"${hex(this.#crc)}"}\n`) throw this.damaged('the checksum does not fit the content');
    if (!this.#lines.next().done) throw this.damaged('the file should end here');
  }

  try<Result>(read: () => Result): Result {
    try {
      return read();
    } catch (error) {
      if (error instanceof StoreDamaged) throw error;
      throw this.damaged(error instanceof Error ? error.message : String(error));
    }
  }

  damaged(what: string): Error {
    return damaged(`${this.#path}, line ${this.#number}`, what);
  }

  #take(): Buffer {
    const line = this.#lines.next();
    this.#number += 1;
    if (line.done || !line.value.complete) throw this.damaged('the file ends too early');
    this.read = line.value.offset + line.value.bytes.length;
    return line.value.bytes;
  }
}

export function readSnapshotHeader(path: string): SnapshotHeader {
  return new CheckedLines(path).header();
}
