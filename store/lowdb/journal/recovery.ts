import { statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type AuditEntry, auditEntry } from '../../../resources/audit-entry.ts';
import { parseJson } from '../../../resources/json.ts';
import { StoreDamaged } from '../../errors.ts';
import { type OpenProgress, ReadProgress } from '../../open-progress.ts';
import { damaged, journalPath, journalsIn, MANIFEST, SNAPSHOT } from '../files/folder.ts';
import { acceptLoss, type JournalMark } from '../files/manifest.ts';
import type { Collection } from '../records/collection.ts';
import { assertKnown, type Format, parseRecord } from './format.ts';
import { type FileLine, readLines, type SealedLine, sealLine, unsealLine } from './line.ts';
import type { SharedTexts } from './shared-texts.ts';

/** The first line of a journal. Its label is the number of the last transaction before this journal. */
const journalHeader = z.object({ format: z.int().min(1), generation: z.int().min(1) });

/** What the audit log reads of an entry. The rest was checked when it was written. */
const read = auditEntry.pick({
  ...{ id: true, at: true, requestId: true, door: true, principal: true },
  ...{ tool: true, arguments: true, recordIds: true, outcome: true },
});

/** One transaction. It holds whole records, so applying it twice does no harm. */
const transactionBody = z.object({
  put: z.record(z.string(), z.array(z.record(z.string(), z.unknown()))).optional(),
  delete: z.record(z.string(), z.array(z.string())).optional(),
  audit: z.array(z.custom<AuditEntry>((entry) => read.safeParse(entry).success, 'This is no audit entry.')).optional(),
  pruned: z.string().optional(),
  erased: z.array(z.string()).optional(),
});
export type TransactionBody = z.input<typeof transactionBody>;

export interface ChainEnd {
  readonly sequence: number;
  readonly crc: number;
}

interface JournaledEntry {
  readonly origin: string;
  readonly entry: AuditEntry;
}

export interface Erasure {
  readonly sequence: number;
  readonly ids: readonly string[];
}

export interface Recovered {
  readonly found: boolean;
  readonly end: ChainEnd;
  /** The generation of the journal to continue, and the length of its valid part. */
  readonly generation: number;
  readonly size: number;
  readonly auditEntries: readonly JournaledEntry[];
  readonly prunedBefore: string;
  readonly erasures: readonly Erasure[];
  /** The number of the first transaction that is not in the snapshot. */
  readonly firstSequence: number;
  readonly several: boolean;
  readonly outdated: boolean;
  /** There is a journal of the current format already: a start that brought the data to it was interrupted. */
  readonly isHalfMigrated: boolean;
  readonly dropped: readonly string[];
}

interface RecoveryOptions {
  readonly folder: string;
  readonly collections: ReadonlyMap<string, Collection>;
  readonly format: Format;
  readonly start: ChainEnd;
  readonly mark: JournalMark | undefined;
  readonly opening: OpenProgress;
  readonly texts: SharedTexts;
}

export function journalHeaderLine(format: number, generation: number, { sequence, crc }: ChainEnd) {
  return sealLine(String(sequence), JSON.stringify({ format, generation }), crc);
}

/** Applies the journals after a snapshot, strictly in order. */
export class Recovery {
  readonly #options: Omit<RecoveryOptions, 'start'>;
  #end: ChainEnd;
  readonly #entries: JournaledEntry[] = [];
  #prunedBefore = '';
  readonly #erasures: Erasure[] = [];
  #outdated = false;
  #hasCurrent = false;
  readonly #dropped: string[] = [];

  constructor({ start, ...options }: RecoveryOptions) {
    this.#options = options;
    this.#end = start;
  }

  /** `first` is the generation to start with. `found`: there is a snapshot, so its journal must exist. */
  async run(first: number, found: boolean): Promise<Recovered> {
    const firstSequence = this.#end.sequence + 1;
    const generations = journalsIn(this.#options.folder).filter((generation) => !found || generation >= first);
    if (!found && generations.length > 0 && !generations.includes(first)) {
      throw damaged(join(this.#options.folder, SNAPSHOT), 'the snapshot is missing, but there are journals');
    }
    let size = 0;
    const last = generations.at(-1) ?? first;
    for (let generation = first; generation <= last; generation += 1) {
      const path = journalPath(this.#options.folder, generation);
      if (!found && generations.length === 0) break;
      if (!generations.includes(generation))
        throw damaged(path, 'the journal is missing', this.#headerRescue(generation));
      const lastOne = generation === last;
      size = await this.#replay(path, generation, lastOne, lastOne && (generation > first || !found));
    }
    this.#assertReached(last, size);
    return {
      found,
      end: this.#end,
      generation: last,
      size,
      auditEntries: this.#entries,
      prunedBefore: this.#prunedBefore,
      erasures: this.#erasures,
      firstSequence,
      several: generations.length > 1,
      outdated: this.#outdated,
      isHalfMigrated: this.#hasCurrent,
      dropped: this.#dropped,
    };
  }

  async #replay(path: string, generation: number, isLast: boolean, mayLackHeader: boolean): Promise<number> {
    let size = 0;
    const reading = new ReadProgress(this.#options.opening, 'reading the journal', statSync(path).size);
    let format = this.#options.format.number;
    for (const line of readLines(path)) {
      if (!line.complete) {
        if (isLast && (size > 0 || mayLackHeader)) {
          this.#dropped.push(`${path}, line ${line.number}, offset ${line.offset}: ${line.bytes.length} bytes`);
          return size;
        }
        throw this.#damagedLine(path, line, 'the line is cut short', line.number === 1 ? generation : undefined);
      }
      if (line.number === 1) format = this.#header(path, line, generation);
      else this.#transaction(path, line, format);
      this.#assertSame(path, line, generation);
      size = line.offset + line.bytes.length;
      if (reading.isLong) await reading.pause(size);
    }
    if (size === 0 && !mayLackHeader) throw damaged(path, 'the journal is empty', this.#headerRescue(generation));
    return size;
  }

  #assertSame(path: string, line: FileLine, generation: number): void {
    const mark = this.#options.mark;
    if (mark?.generation !== generation || mark.sequence !== this.#end.sequence || mark.crc === this.#end.crc) return;
    const what = `the manifest knows another transaction ${mark.sequence}, so this journal is not the one that was written last`;
    throw damaged(`${path}, line ${line.number}`, what, acceptLoss(join(this.#options.folder, MANIFEST)));
  }

  #assertReached(last: number, size: number): void {
    const { generation, sequence, size: least } = this.#options.mark ?? { generation: 0, sequence: 0, size: 0 };
    const first = this.#end.sequence + 1;
    if (sequence < first) return;
    const lost = first === sequence ? `transaction ${first} is` : `transactions ${first} to ${sequence} are`;
    const place = `${journalPath(this.#options.folder, generation)}, offset ${generation > last ? 0 : size}`;
    const what = `${lost} missing, which the server had acknowledged; by the manifest, the file had ${least} bytes or more`;
    throw damaged(place, what, acceptLoss(join(this.#options.folder, MANIFEST)));
  }

  #header(path: string, line: FileLine, generation: number): number {
    const sealed = unsealLine(line.bytes, this.#end.crc);
    const header = sealed && journalHeader.safeParse(parseJson(sealed.json)).data;
    if (header) assertKnown(this.#options.format, header.format, path);
    if (!sealed || !header || header.generation !== generation || sealed.label !== String(this.#end.sequence)) {
      throw this.#damagedLine(path, line, 'the header does not follow what comes before it', generation);
    }
    if (header.format < this.#options.format.number) this.#outdated = true;
    else this.#hasCurrent = true;
    this.#end = { sequence: this.#end.sequence, crc: sealed.crc };
    return header.format;
  }

  #transaction(path: string, line: FileLine, format: number): void {
    const expected = this.#end.sequence + 1;
    const sealed = unsealLine(line.bytes, this.#end.crc);
    if (!sealed || sealed.label !== String(expected)) throw this.#damagedLine(path, line, gapOrDamage(line, expected));
    try {
      this.#apply(sealed, expected, format);
    } catch (error) {
      if (error instanceof StoreDamaged) throw error;
      throw this.#damagedLine(path, line, error instanceof Error ? error.message : String(error));
    }
    this.#end = { sequence: expected, crc: sealed.crc };
  }

  #apply(sealed: SealedLine, sequence: number, format: number): void {
    const body = transactionBody.parse(JSON.parse(sealed.json));
    for (const [name, ids] of Object.entries(body.delete ?? {})) {
      for (const id of ids) this.#collection(name).set(id, undefined);
    }
    this.#options.texts.forget(); // a record and its version come in one transaction, and what it replaces shall go
    for (const [name, records] of Object.entries(body.put ?? {})) {
      for (const record of records) {
        this.#options.texts.share(record, sealed.json);
        const row = parseRecord(this.#options.format, format, name, record);
        this.#collection(name).set(row.id, row);
      }
    }
    for (const [index, entry] of (body.audit ?? []).entries()) {
      this.#entries.push({ origin: `${sequence}.${index}`, entry });
    }
    if (body.erased) this.#erasures.push({ sequence, ids: body.erased });
    if (body.pruned !== undefined && body.pruned > this.#prunedBefore) this.#prunedBefore = body.pruned;
  }

  #collection(name: string): Collection {
    const collection = this.#options.collections.get(name);
    if (!collection) throw new Error(`there is no collection ${name}`);
    return collection;
  }

  #damagedLine(path: string, line: FileLine, what: string, headerOf?: number): Error {
    const rescue =
      headerOf === undefined
        ? `Or keep what comes before: \`truncate -s ${line.offset} '${path}'\`${this.#removeLater(path)} loses this transaction and all later ones.`
        : this.#headerRescue(headerOf);
    return damaged(`${path}, line ${line.number}`, what, rescue);
  }

  #headerRescue(generation: number): string {
    const path = journalPath(this.#options.folder, generation);
    const header = journalHeaderLine(this.#options.format.number, generation, this.#end).text.trimEnd();
    return `Or keep what comes before: \`printf '%s\\n' '${header}' > '${path}'\`${this.#removeLater(path)} loses every transaction from this journal on (number ${this.#end.sequence + 1} and later).`;
  }

  #removeLater(path: string): string {
    const later = journalsIn(this.#options.folder)
      .map((generation) => journalPath(this.#options.folder, generation))
      .filter((other) => other > path);
    const removed = this.#options.mark ? [...later, join(this.#options.folder, MANIFEST)] : later;
    return removed.length > 0 ? ` and \`rm ${removed.map((other) => `'${other}'`).join(' ')}\`` : '';
  }
}

function gapOrDamage(line: FileLine, expected: number): string {
  const label = /^[0-9a-f]{8} (\d+) /.exec(line.bytes.toString('latin1', 0, 40))?.[1];
  if (label !== undefined && Number(label) > expected) {
    return `the sequence has a gap: transaction ${expected} is expected here, ${label} is found`;
  }
  return `the checksum does not fit the content (transaction ${expected} is expected here)`;
}
