import { crc32 } from 'node:zlib';
import { type AuditEntry, recordsOf } from '../../../resources/audit-entry.ts';
import { hex, sealLine, unsealLine } from '../journal/line.ts';

/** The members by which entries can be filtered. */
export const LABELS = ['principal', 'tool', 'outcome', 'door', 'sessionId'] as const;
export type Label = (typeof LABELS)[number];

/** Members kept as hashes. `record` and `other` are the first two records of the entry; 0: none, `MORE` in `other`: three or more. */
export const MARKS = ['id', 'request', 'record', 'other'] as const;
export type Mark = (typeof MARKS)[number];
export const MORE = 1;

export interface Indexed extends Readonly<Record<Label, string>>, Readonly<Record<Mark, number>> {
  readonly time: number;
}

export function indexed(entry: AuditEntry): Indexed {
  const { at, principal, tool, outcome, door, requestId, sessionId = '' } = entry;
  const records = recordsOf(entry);
  const [first, second, third] = records.length > 1 ? new Set(records) : records;
  return {
    time: timeOf(at),
    principal: principal.id,
    tool,
    outcome,
    door,
    sessionId,
    id: markOf(entry.id),
    request: markOf(requestId),
    record: first === undefined ? 0 : markOf(first),
    other: third === undefined ? (second === undefined ? 0 : markOf(second)) : MORE,
  };
}

const latest = { at: '', time: Number.NaN };

/** Kept for the entries of the same millisecond, because parsing costs more than the rest. */
function timeOf(at: string): number {
  if (at !== latest.at) Object.assign(latest, { at, time: Date.parse(at) });
  return latest.time;
}

/** The mark of a text. It is never 0 or `MORE`. */
export function markOf(text: string): number {
  return Math.max(MORE + 1, crc32(text));
}

export interface Outlined {
  readonly entry: Indexed;
  readonly length: number;
  /** `<sequence>.<index>` where a transaction carried the entry. */
  readonly origin: string;
}

/** Consecutive entries of a segment, stored as columns. */
export interface Stretch extends Readonly<Record<Label, LabelColumn>>, Readonly<Record<Mark, readonly number[]>> {
  readonly format: number;
  /** For each entry, the milliseconds since the one before; for the first one, its time. */
  readonly gaps: readonly number[];
  readonly lengths: readonly number[];
  /** For each entry that a transaction carried: the number of entries before it, and the number of the transaction. */
  readonly journaled: readonly (readonly [before: number, sequence: number])[];
}

interface LabelColumn {
  readonly names: readonly string[];
  readonly numbers: readonly number[];
}

const FORMAT = 3;

/** Where a stretch is in its segment, and the checksum of the bytes there. */
export interface Extent {
  readonly start: number;
  readonly end: number;
  readonly crc: number;
}

const EXTENT = /^(\d+)-(\d+)-([0-9a-f]{8})$/;

/** The length of the line does not depend on the checksum, so a line with another checksum can replace it in place. */
export function sealStretch({ start, end, crc }: Extent, json: string): string {
  return sealLine(`${start}-${end}-${hex(crc)}`, json, 0).text;
}

export function unsealStretch(line: Buffer): { readonly extent: Extent; readonly json: string } | undefined {
  const sealed = unsealLine(line, 0);
  const [, start, end, crc] = EXTENT.exec(sealed?.label ?? '') ?? [];
  if (!sealed || crc === undefined) return undefined;
  return { extent: { start: Number(start), end: Number(end), crc: Number.parseInt(crc, 16) }, json: sealed.json };
}

/** Undefined for a stretch of another format. `json` must come from `sealStretch`. */
export function parseStretch(json: string): Stretch | undefined {
  const stretch = JSON.parse(json) as Stretch; // the checksum proves that it is as it was written
  return stretch.format === FORMAT ? stretch : undefined;
}

export class StretchBuilder {
  readonly #gaps: number[] = [];
  readonly #lengths: number[] = [];
  readonly #journaled: [number, number][] = [];
  readonly #columns = LABELS.map((label) => ({ label, names: new Map<string, number>(), numbers: [] as number[] }));
  readonly #marks: Record<Mark, number[]> = { id: [], request: [], record: [], other: [] };
  #last = 0;

  get size(): number {
    return this.#lengths.length;
  }

  add({ entry, length, origin }: Outlined): void {
    const sequence = Number.parseInt(origin, 10);
    if (!Number.isNaN(sequence)) this.#journaled.push([this.size, sequence]);
    this.#gaps.push(entry.time - this.#last);
    this.#last = entry.time;
    this.#lengths.push(length);
    for (const { label, names, numbers } of this.#columns) {
      const known = names.get(entry[label]);
      if (known === undefined) names.set(entry[label], names.size);
      numbers.push(known ?? names.size - 1);
    }
    for (const mark of MARKS) this.#marks[mark].push(entry[mark]);
  }

  get stretch(): Stretch {
    const columns = this.#columns.map(({ label, names, numbers }) => [label, { names: [...names.keys()], numbers }]);
    return {
      format: FORMAT,
      gaps: this.#gaps,
      lengths: this.#lengths,
      journaled: this.#journaled,
      ...this.#marks,
      ...(Object.fromEntries(columns) as Record<Label, LabelColumn>), // one per label
    };
  }
}
