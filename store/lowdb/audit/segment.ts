import { readdirSync, rmSync } from 'node:fs';
import { copyFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { AuditEntry } from '../../../resources/audit-entry.ts';
import { type FileSystem, type WritableFile, writeAll } from '../files/file-system.ts';
import { damaged, MANIFEST } from '../files/folder.ts';
import { LineBuffer } from '../files/line-buffer.ts';
import { acceptLoss, type SegmentMark } from '../files/manifest.ts';
import { type FileLine, readLines, type SealedLine, sealLine, unsealLine } from '../journal/line.ts';
import { AuditOutline, outlinePath } from './outline.ts';
import { indexed, type Outlined, type Stretch } from './stretch.ts';

/** The label of an entry that came without a transaction, as those of reads do. */
export const READ = '-';

const SEGMENT = /^(\d{4}-\d\d-\d\d)\.ndjson$/;
const OUTLINE = /\.outline$/;
const DRAFT = '.tmp';
const BATCH = 4000;
const LOOK = 1000;

interface Replacement {
  readonly offset: number;
  readonly text: string;
}

interface Placed extends Outlined {
  readonly offset: number;
}

interface SegmentVisitor {
  readonly firstSequence: number;
  readonly mark: SegmentMark | undefined;
  onStretch(stretch: Stretch, start: number): void;
  onEntry(placed: Placed): void;
  onJournaled(origin: string, id: string): void;
}

/** The audit entries of one UTC day: the file, and the entries that are not written yet. */
export class AuditSegment {
  readonly day: string;
  readonly path: string;
  readonly #files: FileSystem;
  #file: WritableFile | undefined;
  #written = 0;
  #end = 0;
  #tailIsGood = false;
  #lastEntry = 0;
  #pending: Placed[] = [];
  readonly #bytes = new LineBuffer();
  readonly #outline: AuditOutline;

  constructor(folder: string, day: string, files: FileSystem) {
    this.day = day;
    this.path = join(folder, `${day}.ndjson`);
    this.#files = files;
    this.#outline = new AuditOutline(this.path, files);
  }

  get pending(): number {
    return this.#pending.length;
  }

  get mark(): SegmentMark {
    return { size: this.#written, entry: this.#lastEntry };
  }

  /** Reads the file. Returns its last line where that is torn; the next flush then cuts it off. */
  load(visitor: SegmentVisitor): FileLine | undefined {
    let marked = 0;
    const see = (entry: number, end: number) => {
      if (end === visitor.mark?.size) marked = entry;
      this.#lastEntry = entry;
    };
    const known = this.#outline.load((stretch, start, bytes) => {
      visitor.onStretch(stretch, start);
      let end = start;
      for (const [at, length] of stretch.lengths.entries()) {
        end += length;
        see(stretch.id[at] ?? 0, end);
      }
      this.#journaled(stretch, start, bytes, visitor);
    });
    this.#written = known.offset;
    this.#end = known.offset;
    for (const line of readLines(this.path, known)) {
      if (!line.complete) {
        this.#assertReached(visitor.mark, marked);
        return line;
      }
      const { json, label: origin } = this.#unseal(line.bytes, line.number);
      // `add` wrote the line and takes audit entries only; the checksum proves that nothing has changed since.
      const audited = JSON.parse(json) as AuditEntry;
      const added = { entry: indexed(audited), origin, offset: line.offset, length: line.bytes.length };
      visitor.onEntry(added);
      this.#outline.add(line.bytes, [added]);
      if (Number.parseInt(origin, 10) >= visitor.firstSequence) visitor.onJournaled(origin, audited.id);
      this.#end += line.bytes.length;
      this.#written = this.#end;
      see(added.entry.id, this.#end);
    }
    this.#assertReached(visitor.mark, marked);
    return undefined;
  }

  /** `json`: the entry as it is written, where that is more than the entry. */
  add(entry: AuditEntry, origin: string, json = JSON.stringify(entry)): Placed {
    const length = this.#bytes.add(origin, json);
    const line = { entry: indexed(entry), origin, offset: this.#end, length };
    this.#pending.push(line);
    this.#end += length;
    return line;
  }

  /** Writes and syncs what was added before. What could not be written stays pending. */
  async flush(): Promise<void> {
    if (this.#pending.length === 0 && this.#tailIsGood) return;
    const isNew = this.#file === undefined;
    this.#file ??= await this.#files.open(this.path);
    if (!this.#tailIsGood) {
      await this.#file.truncate(this.#written);
      await this.#file.sync();
    }
    this.#tailIsGood = false;
    for (let left = this.#pending.length; left > 0; left -= BATCH) {
      const lines = this.#pending.slice(0, Math.min(left, BATCH));
      const last = lines.at(-1);
      const bytes = this.#bytes.slice(0, last ? last.offset + last.length - this.#written : 0);
      await writeAll(this.#file, bytes, this.#written);
      await this.#file.sync();
      this.#outline.add(bytes, lines);
      this.#written += bytes.length;
      this.#lastEntry = last?.entry.id ?? this.#lastEntry;
      this.#pending = this.#pending.slice(lines.length);
      this.#bytes.drop(bytes.length);
    }
    if (isNew) await this.#files.syncFolder(join(this.path, '..'));
    this.#tailIsGood = true;
    await this.#outline.save();
  }

  /** Reads the entries at these positions. Entries of a segment removed during this are skipped. */
  async read(places: readonly { offset: number; length: number }[]): Promise<AuditEntry[]> {
    const waiting = places.map(({ offset }) => this.#pendingAt(offset));
    const found = waiting.every((json) => json !== undefined) ? waiting : await this.#readFile(places, waiting);
    return found.map((json) => JSON.parse(json) as AuditEntry);
  }

  /** New lines for the written entries that contain one of the words and that `change` changes. `change` must not make them longer. */
  async replacements(
    words: readonly string[],
    change: (entry: AuditEntry, origin: string) => AuditEntry,
  ): Promise<Replacement[]> {
    const found: Replacement[] = [];
    const end = this.#written;
    if (end === 0) return found;
    for (const line of readLines(this.path)) {
      if (line.offset >= end) break;
      if (line.number % LOOK === 0) await setImmediate();
      const sealed = words.some((word) => line.bytes.includes(word)) && unsealLine(line.bytes, 0);
      if (!sealed) continue;
      const entry = JSON.parse(sealed.json) as AuditEntry; // `add` wrote it, see `load`
      const json = JSON.stringify(change(entry, sealed.label));
      if (json === sealed.json.trimEnd()) continue;
      const gap = Buffer.byteLength(sealed.json) - Buffer.byteLength(json);
      found.push({ offset: line.offset, text: sealLine(sealed.label, json + ' '.repeat(gap), 0).text });
    }
    return found;
  }

  /** Writes a copy of the file with these lines, which then replaces the file. No flush may run during this. */
  async replace(lines: readonly Replacement[]): Promise<void> {
    const draft = `${this.path}${DRAFT}`;
    await copyFile(this.path, draft);
    const file = await this.#files.open(draft);
    try {
      for (const { offset, text } of lines) await writeAll(file, Buffer.from(text), offset);
      await file.sync();
    } finally {
      await file.close();
    }
    await this.#closeFile();
    await this.#files.rename(draft, this.path);
    await this.#files.syncFolder(join(this.path, '..'));
    await this.#outline.refresh(lines.map(({ offset }) => offset));
  }

  async close(): Promise<void> {
    await this.#closeFile();
    await this.#outline.finish();
  }

  async remove(): Promise<void> {
    await this.#closeFile();
    await this.#files.remove(this.path);
    await this.#files.remove(this.#outline.path);
  }

  async #closeFile(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  #assertReached(mark: SegmentMark | undefined, marked: number): void {
    if (!mark || mark.entry === marked) return;
    const what =
      this.#written < mark.size
        ? `audit entries are missing that were written: by the manifest, the file had ${mark.size} bytes or more`
        : `the entry that ends at ${mark.size} is not the one that was written there, so this is another file`;
    throw damaged(`${this.path}, offset ${Math.min(this.#written, mark.size)}`, what, acceptLoss(this.#manifest));
  }

  get #manifest(): string {
    return join(this.path, '../..', MANIFEST);
  }

  #unseal(line: Buffer, number: number): SealedLine {
    const sealed = unsealLine(line, 0);
    if (sealed) return sealed;
    throw damaged(
      `${this.path}, line ${number}`,
      'the checksum does not fit the content',
      `Or take the line out: \`sed -i ${number}d '${this.path}'\` and \`rm '${this.#manifest}'\` loses this one audit entry.`,
    );
  }

  /** Passes on the entries of a stretch that the journals may also hold. */
  #journaled({ journaled, lengths }: Stretch, start: number, bytes: Buffer, visitor: SegmentVisitor): void {
    let offset = 0;
    let before = 0;
    for (const [number, sequence] of journaled) {
      if (sequence < visitor.firstSequence) continue;
      for (; before < number; before += 1) offset += lengths[before] ?? 0;
      const sealed = unsealLine(bytes.subarray(offset, offset + (lengths[number] ?? 0)), 0);
      if (!sealed) throw damaged(`${this.path}, offset ${start + offset}`, 'the checksum does not fit the content');
      visitor.onJournaled(sealed.label, (JSON.parse(sealed.json) as AuditEntry).id); // `add` wrote it, see `load`
    }
  }

  async #readFile(places: readonly { offset: number; length: number }[], waiting: readonly (string | undefined)[]) {
    const file = await open(this.path, 'r').catch(() => undefined);
    if (!file) return [];
    try {
      const reads = places.map(async ({ offset, length }, at) => {
        const json = waiting[at];
        if (json !== undefined) return json;
        const { buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
        const sealed = unsealLine(buffer, 0);
        if (!sealed) throw damaged(`${this.path}, offset ${offset}`, 'the checksum does not fit the content');
        return sealed.json;
      });
      return await Promise.all(reads);
    } finally {
      await file.close();
    }
  }

  #pendingAt(offset: number): string | undefined {
    if (offset < this.#written) return undefined;
    let low = 0;
    let high = this.#pending.length; // as many as the disk did not take, in the order of their offsets
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pending[middle]?.offset ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    const line = this.#pending[low];
    if (line?.offset !== offset) return undefined;
    const from = offset - this.#written;
    return unsealLine(this.#bytes.slice(from, from + line.length), 0)?.json;
  }
}

/** The files of entries that the folder holds, oldest first. */
export function segmentNames(folder: string): { readonly day: string; readonly name: string }[] {
  const names = readdirSync(folder).filter((name) => SEGMENT.test(name));
  return names.sort().map((name) => ({ day: SEGMENT.exec(name)?.[1] ?? '', name }));
}

/** The days for which the folder holds a segment, oldest first. Removes incomplete copies that a crash left. */
export function segmentDays(folder: string): string[] {
  const names = readdirSync(folder);
  const outlines = new Set(names.filter((name) => SEGMENT.test(name)).map(outlinePath));
  for (const name of names) {
    if (name.endsWith(DRAFT) || (OUTLINE.test(name) && !outlines.has(name))) rmSync(join(folder, name));
  }
  return names.flatMap((name) => SEGMENT.exec(name)?.[1] ?? []).sort();
}
