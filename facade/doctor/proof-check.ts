import { hashOfHead } from '../../store/audit-proof/head.ts';
import type { AuditProof } from '../../store/audit-proof-port.ts';
import { type Finding, ok, reasonOf, warn } from './finding.ts';

const ABOUT = 'audit proof';

/** The last head and the public key, to be noted elsewhere. */
export async function proofFinding(proof: AuditProof | undefined): Promise<Finding> {
  if (!proof) return warn(ABOUT, 'The audit log has none: set SECRETS_KEY and start the server again.');
  if (proof.error) return warn(ABOUT, `The last head could not be signed (${reasonOf(proof.error)}): see the store.`);
  const head = await proof.last();
  const last = head ? `Last head ${head.number}:${hashOfHead(head)}, signed at ${head.at}` : 'No head is signed yet';
  return ok(ABOUT, `${last}; public key ${proof.publicKey.text}. Note both elsewhere.`);
}
