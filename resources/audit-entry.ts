import { z } from 'zod';
import { errorCode } from './error.ts';
import { recordId, timestamp } from './fields.ts';

export const door = z.enum(['rest', 'mcp', 'capsule', 'stdio', 'agent', 'flow', 'dashboard', 'webhook', 'openai']);
export type Door = z.infer<typeof door>;

export const outcome = z.enum(['ok', 'denied', 'invalid', 'failed']);
export type Outcome = z.infer<typeof outcome>;

export const principalRef = z.object({ type: z.string(), id: z.string(), name: z.string() });

/** The audit entry of one call at one door. Refused calls have one too. */
export const auditEntry = z.object({
  id: recordId,
  at: timestamp,
  requestId: z.string(),
  door,
  principal: principalRef,
  sessionId: recordId.optional().describe('Of a person, or of the person an agent acted for.'),
  onBehalfOf: z.array(principalRef).optional().describe('Whom an agent or flow acted for, nearest first.'),
  tool: z.string(),
  arguments: z
    .record(z.string(), z.unknown())
    .describe('Sensitive values replaced, unknown members named without their values, cut at 4 KiB.'),
  recordIds: z
    .array(recordId)
    .optional()
    .describe('Records that the call made or was about, except those in its arguments.'),
  withheld: z
    .literal(true)
    .optional()
    .describe('The arguments are about a record that you may not read; only ids are left of them.'),
  outcome,
  code: errorCode.optional(),
  durationMs: z.number().min(0),
});
export type AuditEntry = z.infer<typeof auditEntry>;

/** The types of principals that calls are added up by. */
export const CALLER_TYPES = ['agent', 'api-key', 'capsule', 'app', 'session', 'flow'] as const;
export type CallerType = (typeof CALLER_TYPES)[number];
/** The id of the nearest principal of each type that took part. */
export type Callers = Readonly<Partial<Record<CallerType, string>>>;

export function callersOf(principals: readonly Pick<z.infer<typeof principalRef>, 'type' | 'id'>[]): Callers {
  const callers: Partial<Record<string, string>> = {};
  for (const { type, id } of principals) callers[type] ??= id;
  return Object.fromEntries(
    CALLER_TYPES.flatMap((type) => (callers[type] === undefined ? [] : [[type, callers[type]]])),
  );
}

/** Members of the arguments that name the record that the call is about. */
const SUBJECTS = ['id', 'entityId', 'threadId'] as const;
const ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** The ids of the records that a call is about, by the members of its input or output. */
export function subjectsOf(members: unknown): string[] {
  const found: string[] = [];
  if (typeof members !== 'object' || members === null) return found;
  // Reads the few members by name instead of all members, since an input can have any number of them.
  for (const name of SUBJECTS) {
    const value = Object.hasOwn(members, name) && (members as Readonly<Record<string, unknown>>)[name]; // an own member, not an inherited one
    if (typeof value === 'string' && value.length <= 200) found.push(value);
  }
  return found;
}

/** The records that a call made or was about. */
export function recordsOf({ arguments: args, recordIds = [] }: AuditEntry): string[] {
  return [...recordIds, ...subjectsOf(args)];
}

export function isIdText(value: unknown): boolean {
  return typeof value === 'string' && ID.test(value);
}

/** The entry with only the ids left of its arguments. */
export function withoutContent({
  arguments: args,
  salt: _,
  ...entry
}: AuditEntry & { readonly salt?: string }): AuditEntry {
  const ids = Object.entries(args).filter(([, value]) => isIdText(value));
  return { ...entry, arguments: Object.fromEntries(ids) };
}
