import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type SealedLine, sealLine, unsealLine } from '../journal/line.ts';
import type { FileSystem, WritableFile } from './file-system.ts';
import { damaged, MANIFEST } from './folder.ts';

const journalMark = z.object({ generation: z.int(), sequence: z.int(), crc: z.int(), size: z.int() });
export type JournalMark = z.infer<typeof journalMark>;

/** How long an audit segment was when it was last synced, and the mark of the id of its last entry, which a purge keeps. */
const segmentMark = z.object({ size: z.int(), entry: z.int() });
export type SegmentMark = z.infer<typeof segmentMark>;

const slotOf = { journal: journalMark, segment: segmentMark.nullable() };

/** Bytes of a slot. A slot lies in one sector of the disk, which is written whole or not at all. */
const SLOT = 128;
const JOURNAL = 'journal';
const LATER_MS = 5;

/**
 * Says how far the journal and the audit segments reached. Each has a slot, overwritten in place after its file was synced. Slots are not
 * synced, so after a loss of power one may be older than its file, never newer.
 */
export class Manifest {
  readonly #path: string;
  readonly #files: FileSystem;
  #opening: Promise<WritableFile> | undefined;
  /** The slots by name, in the order of the file. A slot whose segment was removed is used again. */
  readonly #names: string[] = [];
  readonly #segments = new Map<string, SegmentMark>();
  journal: JournalMark | undefined;
  #due: NodeJS.Timeout | undefined;
  error: Error | undefined;

  constructor(folder: string, files: FileSystem) {
    this.#path = join(folder, MANIFEST);
    this.#files = files;
  }

  get segments(): ReadonlyMap<string, SegmentMark> {
    return this.#segments;
  }

  read(): void {
    if (!existsSync(this.#path)) return;
    const bytes = readFileSync(this.#path);
    for (let at = 0; at + SLOT <= bytes.length; at += SLOT) {
      const sealed = unsealLine(bytes.subarray(at, at + SLOT), 0);
      if (!sealed) {
        // A new slot that was being written when the power failed.
        if (at + 2 * SLOT > bytes.length) break;
        throw damaged(`${this.#path}, offset ${at}`, 'the checksum does not fit the content', acceptLoss(this.#path));
      }
      this.#names.push(sealed.label);
      try {
        this.#take(sealed);
      } catch {
        throw damaged(`${this.#path}, offset ${at}`, 'the slot holds no mark', acceptLoss(this.#path));
      }
    }
  }

  #take({ label, json }: SealedLine): void {
    const mark: unknown = JSON.parse(json);
    if (label === JOURNAL) this.journal = slotOf.journal.parse(mark);
    else this.#set(label, slotOf.segment.parse(mark));
  }

  /** Writes the mark after a short delay, once for all changes within it, so that no caller waits. */
  markJournal(mark: JournalMark): void {
    this.journal = mark;
    this.#due ??= setTimeout(() => void this.#noteJournal(), LATER_MS);
  }

  async markSegment(day: string, mark: SegmentMark): Promise<void> {
    this.#set(day, mark);
    await this.#note(day, mark);
  }

  /** Called before the segments are removed. @throws when the disk refuses it: after a loss of power they would be missed */
  async forgetSegments(days: readonly string[]): Promise<void> {
    const known = days.filter((day) => this.#segments.has(day));
    if (known.length === 0) return;
    for (const day of known) {
      await this.#write(day, null);
      this.#set(day, null);
    }
    await (await this.#open()).sync();
  }

  async close(): Promise<void> {
    if (this.#due) await this.#noteJournal();
    const file = await this.#opening?.catch(() => undefined);
    await file?.close();
  }

  async #noteJournal(): Promise<void> {
    clearTimeout(this.#due);
    this.#due = undefined;
    if (this.journal) await this.#note(JOURNAL, this.journal);
  }

  async #note(name: string, mark: JournalMark | SegmentMark): Promise<void> {
    try {
      await this.#write(name, mark);
      this.error = undefined;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      this.error = new Error(`${this.#path} could not be written: ${reason}`, { cause });
    }
  }

  async #write(name: string, mark: JournalMark | SegmentMark | null): Promise<void> {
    const file = await this.#open();
    const at = this.#slot(name);
    // 11 bytes are the checksum, two spaces and the line break.
    file.writeNow(Buffer.from(sealLine(name, JSON.stringify(mark).padEnd(SLOT - name.length - 11), 0).text), at * SLOT);
    this.#names[at] = name;
  }

  /** The slot with this name, else one of a segment that was removed, else a new one. */
  #slot(name: string): number {
    const own = this.#names.indexOf(name);
    if (own >= 0) return own;
    const free = this.#names.findIndex((other) => other !== JOURNAL && !this.#segments.has(other));
    return free < 0 ? this.#names.length : free;
  }

  #set(day: string, mark: SegmentMark | null): void {
    if (mark) this.#segments.set(day, mark);
    else this.#segments.delete(day);
  }

  #open(): Promise<WritableFile> {
    this.#opening ??= this.#files.open(this.#path).catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }
}

export function acceptLoss(path: string): string {
  return `Or accept the loss and go on with what is there: \`rm '${path}'\`; the next start writes the file again.`;
}
