import { readdirSync, rmSync } from 'node:fs';
import { copyFile, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { type Files, type WritableFile, writeAll } from './files.ts';
import { damaged } from './folder.ts';
import { readLines, sealLine, unsealLine } from './line.ts';

/** The label of an entry that no transaction carried. */
export const READ = '-';

const SEGMENT = /^(\d{4}-\d\d-\d\d)\.ndjson$/;
const DRAFT = '.tmp';
const BATCH = 4000;
/** Lines looked at before others have their turn. */
const LOOK = 1000;

/** A line to stand where another one of the same length does. */
export interface Replacement {
  readonly offset: number;
  readonly text: string;
}

/** The audit entries of one UTC day: a file, and what still has to be added to it. */
export class AuditSegment {
  readonly day: string;
  readonly path: string;
  readonly #files: Files;
  #file: WritableFile | undefined;
  #written = 0;
  #end = 0;
  #tailIsGood = false;
  /** Lines to come with their offsets. */
  #pending: { readonly origin: string; readonly json: string; readonly offset: number; readonly length: number }[] = [];

  constructor(folder: string, day: string, files: Files) {
    this.day = day;
    this.path = join(folder, `${day}.ndjson`);
    this.#files = files;
  }

  get pending(): number {
    return this.#pending.length;
  }

  /** Reads what is on the disk. False when there is a torn tail, which the next flush cuts. */
  load(onEntry: (entry: AuditEntry, origin: string, offset: number, length: number) => void): boolean {
    for (const line of readLines(this.path)) {
      if (!line.complete) return false;
      const sealed = unsealLine(line.bytes, 0);
      if (!sealed) {
        throw damaged(
          `${this.path}, line ${line.number}`,
          'the checksum does not fit the content',
          `Or take the line out: \`sed -i ${line.number}d '${this.path}'\` loses this one audit entry.`,
        );
      }
      // Written by `add`, which takes audit entries only; the checksum says that nothing changed since.
      const entry = JSON.parse(sealed.json) as AuditEntry;
      onEntry(entry, sealed.label, line.offset, line.bytes.length);
      this.#written = line.offset + line.bytes.length;
      this.#end = this.#written;
    }
    return true;
  }

  /** Returns where the entry will be. Memory only. */
  add(entry: AuditEntry, origin: string): { offset: number; length: number } {
    const json = JSON.stringify(entry);
    // Checksum, two spaces and the line break.
    const place = { offset: this.#end, length: 11 + origin.length + Buffer.byteLength(json) };
    this.#pending.push({ origin, json, ...place });
    this.#end += place.length;
    return place;
  }

  /** Writes and syncs what was added before. What fails stays pending. */
  async flush(): Promise<void> {
    if (this.#pending.length === 0 && this.#tailIsGood) return;
    const isNew = this.#file === undefined;
    this.#file ??= await this.#files.open(this.path);
    if (!this.#tailIsGood) await this.#file.truncate(this.#written);
    this.#tailIsGood = false;
    for (let left = this.#pending.length; left > 0; left -= BATCH) {
      const lines = this.#pending.slice(0, Math.min(left, BATCH));
      const bytes = Buffer.from(lines.map(({ origin, json }) => sealLine(origin, json, 0).text).join(''));
      await writeAll(this.#file, bytes, this.#written);
      await this.#file.sync();
      this.#written += bytes.length;
      this.#pending = this.#pending.slice(lines.length);
    }
    if (isNew) await this.#files.syncFolder(join(this.path, '..'));
    this.#tailIsGood = true;
  }

  /** Reads entries by place; those of a segment that was pruned meanwhile are left out. */
  async read(places: readonly { offset: number; length: number }[]): Promise<AuditEntry[]> {
    const waiting = places.map(({ offset }) => this.#pendingAt(offset));
    const found = waiting.every((json) => json !== undefined) ? waiting : await this.#readFile(places, waiting);
    // See `load`.
    return found.map((json) => JSON.parse(json) as AuditEntry);
  }

  /** New lines for the written entries whose text holds one of the words and that `change` changes, which must not make them longer. */
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
      const entry = JSON.parse(sealed.json) as AuditEntry; // see `load`
      const json = JSON.stringify(change(entry, sealed.label));
      if (json === sealed.json.trimEnd()) continue;
      const gap = Buffer.byteLength(sealed.json) - Buffer.byteLength(json);
      found.push({ offset: line.offset, text: sealLine(sealed.label, json + ' '.repeat(gap), 0).text });
    }
    return found;
  }

  /** Puts the lines into a copy of the file that takes its place. No flush may run meanwhile. */
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
    await this.close();
    await this.#files.rename(draft, this.path);
    await this.#files.syncFolder(join(this.path, '..'));
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
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
    let high = this.#pending.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pending[middle]?.offset ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    const line = this.#pending[low];
    return line?.offset === offset ? line.json : undefined;
  }
}

/** The days of which a folder holds a segment, oldest first. Removes what a crash left of copies. */
export function segmentDays(folder: string): string[] {
  const names = readdirSync(folder);
  for (const name of names) if (name.endsWith(DRAFT)) rmSync(join(folder, name));
  return names.flatMap((name) => SEGMENT.exec(name)?.[1] ?? []).sort();
}
