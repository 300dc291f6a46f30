import { z } from 'zod';
import { instant, time } from '../resources/fields.ts';
import { defineTool, READS } from './core/registry/define-tool.ts';

export const verifyAudit = defineTool({
  name: 'verify_audit',
  title: 'Verify audit log',
  description:
    'Check that no audit entry was changed, removed, added or moved since it was written. Returns `intact`, or the first problem.',
  keywords:
    'tamper proof, tampered with, integrity of the log, is the audit log genuine, manipulated entries, hash chain, signature, prove that the log is complete, forged log',
  access: { scope: 'admin', grant: 'audit:read' },
  annotations: READS,
  input: z.strictObject({
    from: time.optional().describe('Inclusive. Default: the whole log, which takes some 10 s for a million entries.'),
    to: time.optional().describe('Exclusive.'),
  }),
  output: z.object({
    intact: z.boolean(),
    entries: z.int().describe('Checked entries.'),
    heads: z.int().describe('Signed heads, which cover them.'),
    older: z.int().describe('Entries from before the proof began, which have none.'),
    unsigned: z.int().describe('Checked entries that no head covers yet.'),
    lastHead: z.object({ number: z.int(), at: z.string(), hash: z.string() }).optional(),
    publicKey: z.string().describe('Verifies a copy without the server.'),
    firstProblem: z
      .object({
        kind: z.enum(['missing', 'changed', 'added', 'moved']),
        id: z.string().optional().describe('Id of the entry, or `head 12`. A missing entry has none.'),
        at: z.string().describe('Time of the entry; of a missing one, of the entry before.'),
      })
      .optional(),
  }),
  errors: ['conflict'],

  async handler({ from, to }, { server, fail }) {
    const { proof } = server.audit;
    if (!proof) throw fail('conflict', 'This audit log has no proof: set SECRETS_KEY and start the server again.');
    const range = { ...(from && { from: instant(from) }), ...(to && { to: instant(to) }) };
    return { ...(await proof.verify(range)), publicKey: proof.publicKey.text };
  },
});
