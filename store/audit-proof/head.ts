import { hash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import { z } from 'zod';
import type { ProofKey } from './proof-key.ts';

const spanHead = z.strictObject({
  chain: z.string(),
  span: z.int(),
  /** The number of the last entry, and those that were never kept, as their transactions ended without effect. */
  count: z.int(),
  voids: z.array(z.int()).optional(),
  /** When the first and the last of the calls began. */
  first: z.string(),
  last: z.string(),
  key: z.string(),
  /** The hash of all hashes of the entries, in order. `marks` begin each of them, and so name the entry that differs. */
  digest: z.string(),
  marks: z.string(),
});
export type SpanHead = z.infer<typeof spanHead>;

const gone = z.strictObject({
  chain: z.string(),
  span: z.int(),
  entries: z.array(z.tuple([z.int(), z.string()])),
});

const pruned = z.strictObject({
  /** Entries of calls that began before are removed. */
  before: z.string(),
  /** The last head that is removed with its entries, and its hash. 0: none. */
  through: z.int(),
  hash: z.string(),
  /** Removed entries whose heads stay, with their hashes. */
  gone: z.array(gone),
  /** Records whose content was withdrawn, of the heads that are removed. */
  erased: z.array(z.string()),
});
export type Pruned = z.infer<typeof pruned>;

/** A signed statement about the audit log. Each one names the hash of the one before, whichever process made it. */
export const auditHead = z.strictObject({
  number: z.int().min(1),
  at: z.string(),
  before: z.string(),
  keyId: z.string(),
  /** The first head: the entries that are older have no proof. `entries`: how many, where that is known. */
  begins: z.strictObject({ at: z.string(), entries: z.int().optional() }).optional(),
  span: spanHead.optional(),
  /** Records about which content was withdrawn. */
  erased: z.array(z.string()).optional(),
  pruned: pruned.optional(),
  signature: z.string(),
});
export type AuditHead = z.infer<typeof auditHead>;

export type Statement = Pick<AuditHead, 'begins' | 'span' | 'erased' | 'pruned'>;

export function signHead(statement: Statement, previous: AuditHead | undefined, key: ProofKey, at: Date): AuditHead {
  const unsigned = {
    number: (previous?.number ?? 0) + 1,
    at: at.toISOString(),
    before: previous ? hashOfHead(previous) : '',
    keyId: key.publicKey.id,
    ...statement,
  };
  // In the order of the schema, in which it is read.
  return auditHead.parse({ ...unsigned, signature: key.sign(canonicalize(unsigned)) });
}

export function signedText({ signature: _, ...unsigned }: AuditHead): string {
  return canonicalize(unsigned);
}

export function hashOfHead(head: AuditHead): string {
  return hash('sha256', canonicalize(head), 'base64url');
}

export const MARK = 4;

export function digestOf(hashes: readonly string[]): string {
  return hash('sha256', hashes.join('\n'), 'base64url');
}

export function marksOf(hashes: readonly string[]): string {
  return hashes.map((own) => own.slice(0, MARK)).join('');
}

export interface StoredHead {
  readonly head: AuditHead | undefined;
  /** Why it is not as it was written. */
  readonly damage?: string;
}

/** Where the heads are kept, oldest first. */
export interface HeadLog {
  last(): Promise<AuditHead | undefined>;
  /** Appends what `make` makes of the last head. One process at a time does this. */
  append(make: (last: AuditHead | undefined) => AuditHead): Promise<AuditHead>;
  read(): AsyncIterable<StoredHead>;
  /** Removes the heads up to this number. */
  removeThrough(number: number): Promise<void>;
}
