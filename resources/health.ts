import { z } from 'zod';
import { passageType } from './document.ts';
import { timestamp } from './fields.ts';

export const health = z.object({
  status: z.enum(['ok', 'degraded', 'down']),
  version: z.string(),
  uptimeSeconds: z.number().min(0),
  store: z.object({ kind: z.string(), writable: z.boolean() }),
  problems: z.array(z.string()).optional().describe('What is wrong, where `status` is not ok.'),
  backup: z
    .object({
      status: z.enum(['ok', 'failed', 'old']),
      at: timestamp.nullable().describe('When the last one was made.'),
      ageSeconds: z.int().min(0).nullable(),
    })
    .optional()
    .describe('Where this server makes backups by itself.'),
});

const embeddedTexts = z.object({
  records: z.int().min(0),
  embedded: z.int().min(0).describe('How many have their vectors.'),
  kinds: z.array(z.object({ type: passageType, records: z.int().min(0), embedded: z.int().min(0) })),
  model: z.string(),
  since: timestamp.optional().describe('Since when embedding goes on without a failure, or fails.'),
  failedAt: timestamp.optional(),
  nextTryAt: timestamp.optional(),
});
export type EmbeddedTexts = z.infer<typeof embeddedTexts>;

const integrationHealth = z.object({
  name: z.string(),
  kind: z.string(),
  status: z.enum(['ok', 'degraded', 'down']),
  latencyMs: z.number().min(0).describe('How long it took to find out.'),
  lastError: z.string().optional(),
  texts: embeddedTexts.optional().describe('Of the embedding model: records that search by meaning looks in.'),
  droppedLines: z
    .int()
    .min(1)
    .optional()
    .describe('Of the store: unfinished lines that the last start cut off. None had been acknowledged.'),
});
export type IntegrationHealth = z.infer<typeof integrationHealth>;

/** What was found out about one thing of the set-up. `warn` and `fail` say what to do. */
export const setupFinding = z.object({
  level: z.enum(['ok', 'warn', 'fail']),
  about: z.string(),
  text: z.string(),
});
export type SetupFinding = z.infer<typeof setupFinding>;

const storage = z.object({
  usedBytes: z
    .int()
    .min(0)
    .describe('JSON of all states of versioned records, of deleted ones too, and files of documents.'),
  limitBytes: z.int().min(1).nullable(),
  share: z.number().min(0).nullable().describe('Part of the limit that is used, 1 for all.'),
  kinds: z.array(z.object({ type: z.string(), bytes: z.int().min(0) })).describe('Largest first.'),
});

export const systemHealth = z.object({
  overallStatus: z.enum(['ok', 'degraded', 'down']),
  storage: storage.optional(),
  integrations: z.array(integrationHealth),
});
