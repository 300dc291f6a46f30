import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../../resources/json.ts';
import { type AuditHead, auditHead, type HeadLog, type StoredHead } from '../../audit-proof/head.ts';
import { Mutex } from '../../mutex.ts';
import { type FileSystem, writeAll } from '../files/file-system.ts';
import { AUDIT, damaged, HEADS } from '../files/folder.ts';
import { type FileLine, readLines, sealLine, unsealLine } from '../journal/line.ts';

/** The heads of the audit log: a file of its own beside the segments, one head a line. */
export class HeadFile implements HeadLog {
  readonly #path: string;
  readonly #folder: string;
  readonly #files: FileSystem;
  readonly #turns = new Mutex();
  /** The last head and where it ends. Undefined until the file was read. */
  #end: { readonly last: AuditHead | undefined; readonly size: number } | undefined;

  constructor(folder: string, files: FileSystem) {
    this.#folder = join(folder, AUDIT);
    this.#path = join(this.#folder, HEADS);
    this.#files = files;
  }

  async last(): Promise<AuditHead | undefined> {
    this.#end ??= this.#readEnd();
    return this.#end.last;
  }

  async append(make: (last: AuditHead | undefined) => AuditHead): Promise<AuditHead> {
    const endTurn = await this.#turns.take();
    try {
      const last = await this.last();
      const head = make(last);
      if (head === last) return head;
      const { size } = this.#end ?? { size: 0 };
      const bytes = Buffer.from(lineOf(head));
      const file = await this.#files.open(this.#path);
      try {
        await file.truncate(size); // what a crash or a full disk left of a line
        await writeAll(file, bytes, size);
        await file.sync();
      } finally {
        await file.close();
      }
      if (size === 0) await this.#files.syncFolder(this.#folder);
      this.#end = { last: head, size: size + bytes.length };
      return head;
    } finally {
      endTurn();
    }
  }

  async *read(): AsyncGenerator<StoredHead> {
    for (const line of existsSync(this.#path) ? readLines(this.#path) : []) if (line.complete) yield headIn(line);
  }

  async removeThrough(number: number): Promise<void> {
    const endTurn = await this.#turns.take();
    try {
      if (number === 0 || !existsSync(this.#path)) return;
      const kept: Buffer[] = [];
      for (const line of readLines(this.#path)) {
        const { head } = headIn(line);
        if (line.complete && (!head || head.number > number)) kept.push(line.bytes);
      }
      const draft = `${this.#path}.tmp`;
      const bytes = Buffer.concat(kept);
      const file = await this.#files.open(draft);
      try {
        await file.truncate(0);
        await writeAll(file, bytes, 0);
        await file.sync();
      } finally {
        await file.close();
      }
      await this.#files.rename(draft, this.#path);
      await this.#files.syncFolder(this.#folder);
      this.#end = undefined;
    } finally {
      endTurn();
    }
  }

  #readEnd(): { last: AuditHead | undefined; size: number } {
    let last: FileLine | undefined;
    if (!existsSync(this.#path)) return { last: undefined, size: 0 };
    for (const line of readLines(this.#path)) if (line.complete) last = line;
    if (!last) return { last: undefined, size: 0 };
    const { head } = headIn(last);
    if (!head) {
      const next = `Or go on without proof of what was before: \`rm '${this.#path}'\`.`;
      throw damaged(`${this.#path}, line ${last.number}`, 'the checksum does not fit the content', next);
    }
    return { last: head, size: last.offset + last.bytes.length };
  }
}

function lineOf(head: AuditHead): string {
  return sealLine(String(head.number), JSON.stringify(head), 0).text;
}

function headIn(line: FileLine): StoredHead {
  const sealed = unsealLine(line.bytes, 0);
  const head = sealed && auditHead.safeParse(parseJson(sealed.json)).data;
  if (!head) return { head: undefined, damage: 'the checksum does not fit the content' };
  return lineOf(head) === line.bytes.toString() ? { head } : { head, damage: 'it is written otherwise' };
}
