import { randomInt } from 'node:crypto';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { digestOf, marksOf, type SpanHead } from './head.ts';
import type { ProofKey } from './proof-key.ts';
import { FIRST, type NewSeal, type SealedEntry, SHORT, sealedJson, sealOf, withSeal } from './seal.ts';

/** Entries of a span, and thus of a head. */
export const MOST_ENTRIES = 1000;
/** A chain is named by the beginning of the id of its key, and by chance. */
export const KEY_PART = 4;
const RANDOM_PART = 8;

interface Span {
  readonly number: number;
  readonly key: string;
  readonly hashes: string[];
  readonly voids: Set<number>;
  /** Entries of transactions that have not ended. */
  open: number;
  first: string;
  last: string;
}

/** Entries sealed for a transaction. Exactly one of both is called when it is known how that ended. */
export interface SealedBatch {
  readonly entries: readonly SealedEntry[];
  kept(): void;
  undone(): void;
}

/** Seals the entries of this process, one after the other: each with the hash of the one before and of itself. */
export class Sealer {
  readonly chain: string;
  readonly #key: ProofKey;
  readonly #onFull: () => void;
  #span: Span;
  #closed: Span[] = [];
  #before = FIRST;
  sealed = 0;

  constructor(key: ProofKey, onFull: () => void) {
    this.#key = key;
    const random = Array.from({ length: RANDOM_PART }, () => randomInt(36).toString(36)).join('');
    this.chain = key.publicKey.id.slice(0, KEY_PART) + random;
    this.#onFull = onFull;
    this.#span = this.#begun(1);
  }

  /** For an entry that is certain to be kept, unless the process ends. */
  seal(entry: AuditEntry): SealedEntry {
    return withSeal(entry, this.#seal(entry).seal);
  }

  sealedJson(entry: AuditEntry): string {
    return sealedJson(entry, this.#seal(entry).seal);
  }

  sealBatch(entries: readonly AuditEntry[]): SealedBatch {
    const sealed = entries.map((entry) => ({ entry, ...this.#seal(entry) }));
    for (const { span } of sealed) span.open += 1;
    const end = (isKept: boolean) => () => {
      for (const { span, number } of sealed) {
        span.open -= 1;
        if (!isKept) span.voids.add(number);
      }
    };
    return { entries: sealed.map(({ entry, seal }) => withSeal(entry, seal)), kept: end(true), undone: end(false) };
  }

  /** Ends the current span, so that it can be signed. */
  closeSpan(): void {
    if (this.#span.hashes.length === 0) return;
    this.#closed.push(this.#span);
    this.#span = this.#begun(this.#span.number + 1);
  }

  /** The spans that can be signed once their entries are durable. */
  ended(): readonly Span[] {
    return this.#closed.filter(({ open }) => open === 0);
  }

  signed(span: Span): void {
    this.#closed = this.#closed.filter((other) => other !== span);
  }

  get hasUnsigned(): boolean {
    return this.#closed.length > 0 || this.#span.hashes.length > 0;
  }

  headOf({ number, key, hashes, voids, first, last }: Span): SpanHead {
    return {
      ...{ chain: this.chain, span: number, count: hashes.length },
      ...(voids.size > 0 && { voids: [...voids].sort((a, b) => a - b) }),
      ...{ first, last, key },
      digest: digestOf(hashes.filter((_, at) => !voids.has(at + 1))),
      marks: marksOf(hashes),
    };
  }

  #seal(entry: AuditEntry): { seal: NewSeal; span: Span; number: number } {
    const span = this.#span;
    const number = span.hashes.length + 1;
    const place = { chain: this.chain, span: span.number, number, before: this.#before };
    const seal = sealOf(entry, place, span.key);
    span.hashes.push(seal.hash);
    this.#before = seal.hash.slice(0, SHORT);
    if (entry.at < span.first || number === 1) span.first = entry.at;
    if (entry.at > span.last) span.last = entry.at;
    this.sealed += 1;
    if (number === MOST_ENTRIES) {
      this.closeSpan();
      this.#onFull();
    }
    return { seal, span, number };
  }

  #begun(number: number): Span {
    const key = this.#key.spanKey(this.chain, number);
    return { number, key, hashes: [], voids: new Set(), open: 0, first: '', last: '' };
  }
}
