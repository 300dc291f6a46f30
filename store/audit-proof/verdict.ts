import type { AuditEntry } from '../../resources/audit-entry.ts';
import type { AuditHead, SpanHead } from './head.ts';

export interface Problem {
  readonly kind: 'missing' | 'changed' | 'added' | 'moved';
  /** Of the entry, or `head 12`. Unknown where an entry is missing. */
  readonly id?: string;
  /** When the call began; of a missing entry, when the one before it did. */
  readonly at: string;
}

export interface Verdict {
  readonly intact: boolean;
  /** Entries with a proof. */
  readonly entries: number;
  readonly heads: number;
  /** Entries from before the proof began. */
  readonly older: number;
  /** Entries that no head covers yet. */
  readonly unsigned: number;
  readonly lastHead?: { readonly number: number; readonly at: string; readonly hash: string };
  readonly firstProblem?: Problem;
}

/** A head that is known from elsewhere, which must be there. */
export interface KnownHead {
  readonly number: number;
  readonly hash?: string | undefined;
}

export function nameOf({ chain, span }: Pick<SpanHead, 'chain' | 'span'>): string {
  return `${chain}.${span}`;
}

export function problemOf(kind: Problem['kind'], { id, at }: Pick<AuditEntry, 'id' | 'at'>): Problem {
  return { kind, id: String(id), at: String(at) };
}

export function headProblem(kind: Problem['kind'], { number, at }: Pick<AuditHead, 'number' | 'at'>): Problem {
  return { kind, id: `head ${number}`, at };
}
