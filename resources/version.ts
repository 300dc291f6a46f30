import { z } from 'zod';
import { recordId, timestamp } from './fields.ts';

export const entityType = z.enum([
  'task-document',
  'agent-config',
  'agent',
  'flow',
  'skill',
  'project',
  'memory',
  'artifact',
  'database-record',
  'document',
]);
export type EntityType = z.infer<typeof entityType>;

const author = z.object({ type: z.string(), id: z.string(), name: z.string() });
export type Author = z.infer<typeof author>;

const versionKind = z.enum(['snapshot', 'restore', 'delete']);
export type VersionKind = z.infer<typeof versionKind>;

/** The stored record. `content` is not stored, because it can be made from `payload`; so no text is stored twice. */
export const versionRecord = z.object({
  id: recordId,
  entityType,
  entityId: recordId,
  revision: z.int().min(1),
  contentHash: z.string(),
  kind: versionKind,
  payload: z.record(z.string(), z.unknown()),
  author,
  createdAt: timestamp,
  changeDescription: z.string().optional(),
  /** The principal in whose quota of storage it counts, and the bytes of the JSON of `payload`. Versions of older servers lack both. */
  principalId: z.string().optional(),
  size: z.int().min(0).optional(),
  /** Ids of the principal that made the change, of those that it acted for, and of the runs in which they acted. */
  by: z.array(z.string()).optional(),
});
export type VersionRecord = z.infer<typeof versionRecord>;

/** One state of a versioned record. Revisions count 1, 2, 3 without gaps. A `delete` version holds the state before the deletion. */
export const version = versionRecord.omit({ principalId: true, size: true, by: true }).extend({
  content: z.string().describe('The text of a text entity, else canonical JSON (RFC 8785) of the payload.'),
  contentHash: z.string().describe('SHA-256 of `content` in hex.'),
  payload: z.record(z.string(), z.unknown()).optional().describe('The record without server-managed secrets.'),
});
export type Version = z.infer<typeof version>;

export const versionDiff = z.object({
  kind: z.enum(['text', 'json']),
  lines: z.array(z.object({ op: z.enum(['equal', 'add', 'remove']), value: z.string() })).optional(),
  changes: z
    .array(
      z.object({
        path: z.string().describe('JSON Pointer (RFC 6901).'),
        before: z.unknown().optional().describe('Absent if the member was added.'),
        after: z.unknown().optional().describe('Absent if the member was removed.'),
      }),
    )
    .optional(),
  tools: z
    .object({ gained: z.array(z.string()), lost: z.array(z.string()) })
    .optional()
    .describe('Of an agent whose allowlist differs: the tools that it may call only after, and only before.'),
  leftOut: z
    .object({
      equalLines: z.int().describe('Unchanged lines more than 3 lines away from a change.'),
      lines: z.int().describe('Lines after the last one here.'),
      values: z.int().describe('Changes whose `before` and `after` are not here.'),
      changes: z.int().describe('Changes after the last one here.'),
    })
    .optional()
    .describe('What is not here, as the answer would be larger than 1 MiB; get_version answers both states whole.'),
});
export type VersionDiff = z.infer<typeof versionDiff>;
