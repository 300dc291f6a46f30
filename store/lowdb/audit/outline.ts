import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { type FileSystem, writeAll } from '../files/file-system.ts';
import { type LineBreak, readLines } from '../journal/line.ts';
import {
  type Extent,
  type Outlined,
  parseStretch,
  type Stretch,
  StretchBuilder,
  sealStretch,
  unsealStretch,
} from './stretch.ts';

/** A stretch covers at least this many bytes of a segment. Only closing the store writes a shorter one. */
const STRETCH = 4 * 1024 * 1024;

interface Written extends Extent {
  readonly at: number;
  readonly length: number;
}

type StretchVisitor = (stretch: Stretch, start: number, bytes: Buffer) => void;

/**
 * Has what the index needs of a segment, with a checksum for each stretch, so that a start need not read all entries. Where a checksum
 * differs, the entries are read again. It is not synced, and a disk that refuses it is not an error.
 */
export class AuditOutline {
  readonly path: string;
  readonly #segment: string;
  readonly #files: FileSystem;
  #written: Written[] = [];
  #size = 0;
  #waiting: { readonly extent: Extent; readonly text: string }[] = [];
  #open: { start: number; end: number; crc: number; builder: StretchBuilder } = opened(0);
  /** The disk refused a line. Writing further lines would leave a gap, so nothing more is written. */
  #broken = false;

  constructor(segment: string, files: FileSystem) {
    this.path = outlinePath(segment);
    this.#segment = segment;
    this.#files = files;
  }

  /** Passes the stretches that match the segment to `visit`. Returns where in the segment they end. */
  load(visit: StretchVisitor): LineBreak {
    let number = 0;
    if (!existsSync(this.path)) return { offset: 0, number };
    const file = openSync(this.#segment, 'r');
    try {
      const { size } = fstatSync(file);
      for (const line of readLines(this.path)) {
        const sealed = unsealStretch(line.bytes);
        if (!sealed || sealed.extent.start !== this.#open.start || sealed.extent.end > size) break;
        const { extent } = sealed;
        const bytes = Buffer.allocUnsafe(extent.end - extent.start);
        readSync(file, bytes, 0, bytes.length, extent.start);
        if (crc32(bytes) !== extent.crc) break;
        const stretch = parseStretch(sealed.json);
        if (!stretch) break;
        visit(stretch, extent.start, bytes);
        number += stretch.lengths.length;
        this.#written.push({ ...extent, at: line.offset, length: line.bytes.length });
        this.#size = line.offset + line.bytes.length;
        this.#open = opened(extent.end);
      }
    } finally {
      closeSync(file);
    }
    return { offset: this.#open.start, number };
  }

  /** Adds entries whose lines, these bytes, were written to the segment. */
  add(bytes: Uint8Array, entries: readonly Outlined[]): void {
    if (this.#broken) return;
    const { builder } = this.#open;
    for (const entry of entries) builder.add(entry);
    this.#open.end += bytes.length;
    this.#open.crc = crc32(bytes, this.#open.crc);
    if (this.#open.end - this.#open.start >= STRETCH) this.#seal();
  }

  async save(): Promise<void> {
    if (this.#broken || this.#waiting.length === 0) return;
    const lines = this.#waiting.map(({ extent, text }) => ({ extent, bytes: Buffer.from(text) }));
    this.#waiting = [];
    try {
      const file = await this.#files.open(this.path);
      try {
        await file.truncate(this.#size);
        for (const { extent, bytes } of lines) {
          await writeAll(file, bytes, this.#size);
          this.#written.push({ ...extent, at: this.#size, length: bytes.length });
          this.#size += bytes.length;
        }
      } finally {
        await file.close();
      }
    } catch {
      this.#broken = true;
    }
  }

  async finish(): Promise<void> {
    if (this.#open.builder.size > 0) this.#seal();
    await this.save();
  }

  /** Entries at these offsets were replaced by others that are equal in everything an outline keeps. Renews the checksums. */
  async refresh(offsets: readonly number[]): Promise<void> {
    const touched = ({ start, end }: Extent) => offsets.some((offset) => offset >= start && offset < end);
    const segment = await open(this.#segment, 'r');
    try {
      const own = this.#open;
      if (touched(own)) own.crc = crc32(await bytesOf(segment, own.start, own.end));
      for (const [at, stretch] of this.#written.entries()) {
        if (!touched(stretch)) continue;
        const crc = crc32(await bytesOf(segment, stretch.start, stretch.end));
        this.#written[at] = await this.#rewrite({ ...stretch, crc });
      }
    } catch {
      this.#broken = true;
    } finally {
      await segment.close();
    }
  }

  async remove(): Promise<void> {
    await this.#files.remove(this.path);
  }

  #seal(): void {
    const { start, end, crc, builder } = this.#open;
    const extent = { start, end, crc };
    this.#waiting.push({ extent, text: sealStretch(extent, JSON.stringify(builder.stretch)) });
    this.#open = opened(end);
  }

  async #rewrite(stretch: Written): Promise<Written> {
    const outline = await open(this.path, 'r');
    const line = await bytesOf(outline, stretch.at, stretch.at + stretch.length).finally(() => outline.close());
    const sealed = unsealStretch(line);
    if (!sealed) throw new Error(`${this.path} was changed`);
    const file = await this.#files.open(this.path);
    try {
      await writeAll(file, Buffer.from(sealStretch(stretch, sealed.json)), stretch.at);
    } finally {
      await file.close();
    }
    return stretch;
  }
}

export function outlinePath(segment: string): string {
  return segment.replace(/\.ndjson$/, '.outline');
}

function opened(start: number) {
  return { start, end: start, crc: 0, builder: new StretchBuilder() };
}

async function bytesOf(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(end - start), 0, end - start, start);
  return buffer.subarray(0, bytesRead);
}
