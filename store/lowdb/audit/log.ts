import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type AuditEntry, recordsOf, withoutContent } from '../../../resources/audit-entry.ts';
import type { HeadLog } from '../../audit-proof/head.ts';
import { type AuditProver, entriesOf, type ProvenLog } from '../../audit-proof/prover.ts';
import { withoutSeal } from '../../audit-proof/seal.ts';
import { StoreUnavailable } from '../../errors.ts';
import { noProgress, type OpenProgress } from '../../open-progress.ts';
import type { AuditFilter, AuditQuery, Page, Position } from '../../port.ts';
import type { FileSystem } from '../files/file-system.ts';
import { AUDIT, damaged, MANIFEST } from '../files/folder.ts';
import { acceptLoss, type Manifest } from '../files/manifest.ts';
import type { Erasure, Recovered } from '../journal/recovery.ts';
import { comparePositions } from '../ordered-set.ts';
import { AuditIndex, type EntryPosition, isByMark, matchesMarked } from './index.ts';
import { AuditSegment, READ, segmentDays } from './segment.ts';

interface AuditOptions {
  readonly folder: string;
  readonly files: FileSystem;
  readonly manifest: Manifest;
  /** The largest number of entries of reads that wait in memory while the disk refuses them. */
  readonly bufferLimit: number;
}

type JournaledAudit = Pick<Recovered, 'auditEntries' | 'firstSequence' | 'prunedBefore' | 'erasures'>;

const FLUSH_MS = 250;
const LOOK = 500;

/** The audit log: one file of entries for each UTC day. Memory holds an index of them and the entries that are not written yet. */
export class SegmentedAudit {
  readonly #folder: string;
  readonly #options: AuditOptions;
  readonly #index = new AuditIndex();
  /** Segments by the number that the index uses. A removed segment leaves a hole. */
  readonly #segments: (AuditSegment | undefined)[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #dirty = new Set<AuditSegment>();
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Erasures that may not have reached all segments yet. */
  #erasures: readonly Erasure[] = [];
  /** Every record erased since the start, with the transactions that erased it. Calls that end later may still mention such a record. */
  readonly #erased = new Map<string, number[]>();
  #last: Promise<unknown> = Promise.resolve();
  #error: Error | undefined;
  readonly dropped: string[] = [];
  /** Set before the first entry is added. Absent: entries have no proof. */
  proof: AuditProver | undefined;

  constructor(options: AuditOptions) {
    this.#options = options;
    this.#folder = join(options.folder, AUDIT);
  }

  get error(): Error | undefined {
    if (this.#lost === 0) return this.#error;
    return new Error(
      `${this.#lost} audit entries of reads were lost: ${this.#error?.message ?? 'the disk took no writes'}`,
    );
  }

  /** Reads the segments, and adds the entries that are in the remaining journals but not in a segment. */
  async load(
    { auditEntries, firstSequence, prunedBefore, erasures }: JournaledAudit,
    opening: OpenProgress = noProgress,
  ): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    await this.#options.files.syncFolder(this.#options.folder);
    for (const erasure of erasures) this.erase(erasure);
    const present = new Set<string>();
    const days = segmentDays(this.#folder);
    this.#assertThere(days, prunedBefore.slice(0, 10));
    for (const day of days) {
      opening.step(`reading the audit log of ${day}`);
      opening.signal.throwIfAborted();
      const number = this.#segmentNumber(day);
      const segment = this.#segments[number];
      const mark = this.#options.manifest.segments.get(day);
      const torn = segment?.load({
        firstSequence,
        mark,
        onStretch: (stretch, start) => this.#index.addStretch(stretch, number, start),
        onEntry: (line) => this.#index.add(line, number),
        onJournaled: (origin, id) => present.add(`${origin} ${id}`),
      });
      if (segment && torn)
        this.dropped.push(`${segment.path}, line ${torn.number}, offset ${torn.offset}: ${torn.bytes.length} bytes`);
      if (segment && (torn || segment.mark.size !== mark?.size)) this.#dirty.add(segment);
      await segment?.close();
    }
    for (const { origin, entry } of auditEntries) {
      const pruned = dayOf(entry) < prunedBefore.slice(0, 10);
      if (!pruned && !present.has(`${origin} ${entry.id}`)) this.append(entry, origin);
    }
    // On a full disk the entries stay in memory and in the journals.
    await this.flush().catch(() => {});
  }

  #assertThere(days: readonly string[], prunedBefore: string): void {
    const { manifest, folder } = this.#options;
    for (const day of manifest.segments.keys()) {
      if (days.includes(day) || day < prunedBefore) continue;
      const missing = 'the audit entries of this day are missing';
      throw damaged(join(this.#folder, `${day}.ndjson`), missing, acceptLoss(join(folder, MANIFEST)));
    }
  }

  /** Adds an entry. `origin` is given where a transaction carried the entry, so that the journal holds it. */
  append(entry: AuditEntry, origin = READ): void {
    if (this.#pending() >= this.#options.bufferLimit && origin === READ) {
      this.#lost += 1;
      return;
    }
    const latest = this.#segments.at(-1);
    const number = this.#segmentNumber(dayOf(entry));
    const segment = this.#segments[number];
    if (!segment) return;
    const kept = this.#withoutErased(entry, origin);
    const line = segment.add(kept, origin, this.proof?.sealedJson(kept));
    this.#index.add(line, number);
    this.#dirty.add(segment);
    if (latest && latest !== this.#segments.at(-1)) this.#dirty.add(latest);
    this.#timer ??= setTimeout(() => this.#flushLater(), FLUSH_MS).unref();
  }

  /** @throws StoreUnavailable when the disk refuses the entries. They stay in memory, and the next flush tries again. */
  flush(): Promise<void> {
    return this.#inTurn(() => this.#flush());
  }

  /** Removes the content about the erased records: from new entries at once, from earlier ones in `settle`. */
  erase(erasure: Erasure): void {
    this.#erasures = [...this.#erasures, erasure];
    for (const id of erasure.ids) this.#erased.set(id, [...(this.#erased.get(id) ?? []), erasure.sequence]);
  }

  /** Makes durable what only the journals hold: entries, and erasures. */
  async settle(): Promise<void> {
    // Read before the flush, because a later erasure may concern entries that are not written when the segments are searched.
    const erasures = this.#erasures;
    await this.flush();
    if (erasures.length === 0) return;
    const ids = erasures.flatMap((erasure) => erasure.ids);
    await this.proof?.erased(ids);
    for (const segment of [...this.#segments]) {
      if (!segment || !this.#segments.includes(segment)) continue;
      const lines = await segment.replacements(ids, (entry, origin) => this.#withoutErased(entry, origin));
      if (lines.length > 0) await this.#inTurn(async () => this.#segments.includes(segment) && segment.replace(lines));
    }
    this.#erasures = this.#erasures.filter((erasure) => !erasures.includes(erasure));
  }

  async find(query: AuditQuery): Promise<Page<AuditEntry>> {
    const from = query.from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(query.from);
    const to = query.to === undefined ? Number.POSITIVE_INFINITY : Date.parse(query.to) - 1;
    const { after, limit } = query;
    const tiesAt = after && Date.parse(after.createdAt);
    let entries: AuditEntry[] = [];
    for (let wanted = limit + 1; ; wanted *= 2) {
      const places = this.#index.newest(query, from, Math.min(to, tiesAt ?? to), wanted, tiesAt);
      entries = (await this.#read(places))
        .filter((entry) => matchesMarked(entry, query) && (!after || comparePositions(positionOf(entry), after) < 0))
        .sort((a, b) => comparePositions(positionOf(b), positionOf(a)));
      if (entries.length > limit || places.length < wanted || !isByMark(query)) break;
    }
    const found = entries.slice(0, limit);
    const records = query.sealed ? found : found.map(withoutSeal);
    const last = records.at(-1);
    return { records, next: entries.length > limit && last ? positionOf(last) : null };
  }

  async count(query: AuditFilter): Promise<number> {
    const from = query.from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(query.from);
    const to = query.to === undefined ? Number.POSITIVE_INFINITY : Date.parse(query.to);
    if (!isByMark(query)) return this.#index.count(query, from, to);
    const places = this.#index.newest(query, from, to - 1, Number.POSITIVE_INFINITY);
    let count = 0;
    for (let at = 0; at < places.length; at += LOOK) {
      const entries = await this.#read(places.slice(at, at + LOOK));
      count += entries.filter((entry) => matchesMarked(entry, query)).length;
    }
    return count;
  }

  async prune(before: string): Promise<number> {
    const day = new Date(before).toISOString().slice(0, 10);
    if (this.proof && this.#segments.some((segment) => segment && segment.day < day)) await this.proof.prune(day);
    return this.#inTurn(() => this.#prune(day));
  }

  async #prune(day: string): Promise<number> {
    await this.#flush();
    const removed = this.#segments.filter((segment) => segment !== undefined && segment.day < day);
    if (removed.length === 0) return 0;
    await this.#options.manifest.forgetSegments(removed.flatMap((segment) => segment?.day ?? []));
    const count = this.#index.dropBefore(Date.parse(day));
    for (const segment of removed) {
      if (!segment) continue;
      this.#segments[this.#segmentNumber(segment.day)] = undefined;
      this.#numbers.delete(segment.day);
      await segment.remove();
    }
    await this.#options.files.syncFolder(this.#folder);
    return count;
  }

  async close(): Promise<void> {
    try {
      await this.flush();
      await this.proof?.close({ signs: true });
    } finally {
      await this.proof?.close({ signs: false });
      clearTimeout(this.#timer);
      for (const segment of this.#segments) await segment?.close();
    }
  }

  /** What its proof needs of it. */
  provenLog(heads: HeadLog): ProvenLog {
    const sealed = (query: AuditQuery) => this.find({ ...query, sealed: true });
    return {
      heads,
      flush: () => this.flush(),
      entries: (range) => entriesOf(sealed, range),
      count: () => this.count({}),
    };
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  #flushLater(): void {
    const started = performance.now();
    this.#timer = undefined;
    this.flush()
      .catch(() => {})
      .finally(() => {
        const again = this.#error ? 1000 : FLUSH_MS - (performance.now() - started);
        if (this.#dirty.size > 0) this.#timer ??= setTimeout(() => this.#flushLater(), Math.max(0, again)).unref();
      });
  }

  async #flush(): Promise<void> {
    try {
      for (const segment of [...this.#dirty]) await this.#flushSegment(segment);
      this.#error = undefined;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      this.#error = new StoreUnavailable(`audit entries could not be written to the disk: ${reason}`, { cause });
      throw this.#error;
    }
  }

  async #flushSegment(segment: AuditSegment): Promise<void> {
    await segment.flush();
    if (segment.mark.size > 0) await this.#options.manifest.markSegment(segment.day, segment.mark);
    if (segment.pending > 0) return;
    this.#dirty.delete(segment);
    // Late entries come for a few days at most. A file of an older day is opened again when it is needed.
    if (this.#segments.at(-1) !== segment) await segment.close();
  }

  #pending(): number {
    let pending = 0;
    for (const segment of this.#dirty) pending += segment.pending;
    return pending;
  }

  async #read(places: readonly EntryPosition[]): Promise<AuditEntry[]> {
    const bySegment = new Map<number, EntryPosition[]>();
    for (const place of places) {
      const own = bySegment.get(place.segment);
      if (own) own.push(place);
      else bySegment.set(place.segment, [place]);
    }
    const reads = [...bySegment].map(([number, own]) => this.#segments[number]?.read(own) ?? []);
    return (await Promise.all(reads)).flat();
  }

  /** The entry without content about erased records. The entry of the erasing call itself has none. */
  #withoutErased(entry: AuditEntry, origin: string): AuditEntry {
    if (this.#erased.size === 0) return entry;
    const concerned = recordsOf(entry).some((id) =>
      this.#erased.get(id)?.some((sequence) => !origin.startsWith(`${sequence}.`)),
    );
    return concerned ? withoutContent(entry) : entry;
  }

  #segmentNumber(day: string): number {
    const known = this.#numbers.get(day);
    if (known !== undefined) return known;
    this.#numbers.set(day, this.#segments.length);
    return this.#segments.push(new AuditSegment(this.#folder, day, this.#options.files)) - 1;
  }
}

function dayOf(entry: AuditEntry): string {
  return entry.at.slice(0, 10);
}

function positionOf({ at, id }: AuditEntry): Position {
  return { createdAt: at, id };
}
