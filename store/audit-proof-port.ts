import type { AuditHead } from './audit-proof/head.ts';
import type { Verdict } from './audit-proof/verdict.ts';

/** The proof that nobody changed the audit log unseen. */
export interface AuditProof {
  /** `text` is what verifies without the server. */
  readonly publicKey: { readonly id: string; readonly text: string };
  /** Why the last head could not be signed. */
  readonly error: Error | undefined;
  last(): Promise<AuditHead | undefined>;
  /** Signs what is durable and no head covers yet. Returns the newest head. */
  sign(): Promise<AuditHead | undefined>;
  /** Reads and checks all entries of calls that began in [from, to), ISO 8601, and all heads. */
  verify(range?: { readonly from?: string | undefined; readonly to?: string | undefined }): Promise<Verdict>;
  /** All heads, oldest first. */
  heads(): AsyncIterable<{ readonly head: AuditHead | undefined }>;
  /** Calls the listener with each head that this process signs, until the returned function is called. */
  onHead(listener: (head: AuditHead) => void): () => void;
}
