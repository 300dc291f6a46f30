import { z } from 'zod';
import { errorCode } from './error.ts';
import { recordId, timestamp } from './fields.ts';

export const door = z.enum(['rest', 'mcp', 'capsule', 'stdio', 'agent', 'flow', 'dashboard']);
export type Door = z.infer<typeof door>;

export const outcome = z.enum(['ok', 'denied', 'invalid', 'failed']);
export type Outcome = z.infer<typeof outcome>;

export const principalRef = z.object({ type: z.string(), id: z.string(), name: z.string() });

/** One call at one door, refused ones included. */
export const auditEntry = z.object({
  id: recordId,
  at: timestamp,
  requestId: z.string(),
  door,
  principal: principalRef,
  tool: z.string(),
  arguments: z
    .record(z.string(), z.unknown())
    .describe('Sensitive values replaced, unknown members named without their values, cut at 4 KiB.'),
  outcome,
  code: errorCode.optional(),
  durationMs: z.number().min(0),
});
export type AuditEntry = z.infer<typeof auditEntry>;
