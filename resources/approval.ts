import { z } from 'zod';
import { errorCode } from './error.ts';
import { bookkeeping, recordId, timestamp } from './fields.ts';
import { withFormHints } from './markers.ts';

/** How long an approval waits where the settings say nothing else. */
export const APPROVAL_HOURS = 24;

/** Those in which nothing can run any more. */
export const ENDED = ['done', 'rejected', 'failed', 'unknown', 'expired'] as const;

/** waiting: nobody decided. approved: it runs next. done: it ran, whatever it answered. failed: it could not begin. unknown: it was cut off. */
export const approvalStatus = z.enum(['waiting', 'approved', 'running', ...ENDED]);

const party = z.object({ type: z.string(), id: z.string(), name: z.string() });

const changedRecord = z.object({
  type: z.string(),
  id: z.string(),
  change: z.enum(['create', 'update', 'delete']),
  before: z.record(z.string(), z.unknown()).optional(),
  after: z.record(z.string(), z.unknown()).optional(),
});
export type ChangedRecord = z.infer<typeof changedRecord>;

export const note = z.string().trim().min(1).max(2000);

export const askFirst = withFormHints(z.array(z.string().trim().min(1).max(200)).max(500), {
  control: 'tools',
  title: 'Ask a person first',
}).describe('Tool names or globs whose calls need approval by a person before they run.');

export const askFirstWarning = z.array(z.string()).optional().describe('Entries of `askFirst` without effect now.');

/** What both the record and callers have of an approval. */
const shownMembers = {
  id: recordId,
  tool: z.string(),
  arguments: z.record(z.string(), z.unknown()).describe('Secrets masked, long ones cut.'),
  reaches: z
    .string()
    .optional()
    .describe('Where the call goes or what it takes along; the approval holds for that alone.'),
  by: party.describe('Who asked.'),
  onBehalfOf: z.array(party).optional().describe('Whom it acts for, nearest first.'),
  scopes: z.array(z.string()).describe('Rights of the caller when it asked.'),
  grants: z.array(z.string()).optional().describe('In get_approval.'),
  wouldChange: z
    .array(changedRecord)
    .optional()
    .describe('Records as the call would have left them when it was asked for. Absent where a tool cannot be tried.'),
  expiresAt: timestamp,
  decidedBy: party.optional(),
  decidedAt: timestamp.optional(),
  note: note.optional(),
  repeats: z.literal(true).optional().describe('It runs when the caller makes the call again.'),
  ranAt: timestamp.optional(),
  code: errorCode.optional().describe('Error that the call answered.'),
  problem: z.string().optional().describe('Why it did not run, or is not known to have run.'),
};

/** The right that a call needs: who has it may know of the call, also when its arguments are no longer kept. */
const neededRight = z.object({
  scope: z.string(),
  needs: z
    .array(
      z.object({
        resource: z.string(),
        op: z.string(),
        ids: z.array(z.string()).readonly().optional(),
        open: z.literal(true).optional(),
      }),
    )
    .readonly(),
  narrows: z.boolean().optional(),
  full: z.boolean().optional(),
});

/** The stored record. The whole arguments are sealed, and gone once the approval has ended. */
export const approvalRecord = z.object({
  ...shownMembers,
  status: approvalStatus,
  sealed: z.string().optional(),
  /** The place of calls that are the same, while this is the approval of them; later its own id. */
  slot: z.string(),
  /** The id of who asked. */
  askedBy: z.string(),
  /** Tells callers, and calls with all of their arguments, from others. */
  callerKey: z.string(),
  callKey: z.string(),
  /** Tells the definition of the tool from later ones. */
  definition: z.string(),
  /** Absent if everybody may make the call. */
  right: neededRight.optional(),
  /** The call began a run that waits for a person itself, and is repeated to go on with it. */
  begun: z.literal(true).optional(),
  /** The revision in which it was decided. */
  decidedIn: z.int().optional(),
  /** The admin users behind the caller. */
  persons: z.array(z.string()),
  /** The credential to run as. */
  runAs: party.extend({ endsWith: recordId.optional() }),
  door: z.string(),
  requestId: z.string(),
  ...bookkeeping,
});
export type ApprovalRecord = z.infer<typeof approvalRecord>;

/** A call that waits for approval by a person. */
export const approval = z.object({
  ...shownMembers,
  status: approvalStatus,
  url: z.string().optional().describe('The page on which a person decides.'),
  mayDecide: z.boolean().optional().describe('Of get_approval, while it waits: whether you may decide it.'),
  whyNot: z.string().optional().describe('Why not, where to sign in another way helps.'),
  undecidable: z
    .literal(true)
    .optional()
    .describe(
      'No person of the workspace may decide it: invite one who is independent and has the right to make the call.',
    ),
  answer: z.unknown().optional().describe('What the call answered, for who made it.'),
  ...bookkeeping,
});
export type Approval = z.infer<typeof approval>;
