import { z } from 'zod';
import { askFirst } from './approval.ts';
import { bookkeeping, nameText, recordId, time, timestamp } from './fields.ts';
import { argumentsByTool, withFormHints } from './markers.ts';

export const capsuleStatus = z.enum(['draft', 'live', 'disabled']);

export const LONGEST_CONSTRAINTS = 20_000;

const entries = z.array(z.string().trim().min(1).max(200)).max(500);

export const capsuleFields = {
  name: nameText(120),
  description: z.string().max(2000),
  allowedTools: withFormHints(entries, { control: 'tools' }).describe(
    'Tool names or globs such as `list_*`. A glob reaches no tool that needs `admin`.',
  ),
  deniedTools: withFormHints(entries, { control: 'tools' }).describe('Tool names or globs. They beat allowedTools.'),
  status: capsuleStatus.describe('Only a live capsule is served.'),
  expiresAt: time.describe('When its tokens stop working.'),
  integrationAccounts: z
    .enum(['none', 'owner'])
    .describe(
      'Whether its calls use the accounts that its owner connected to integrations. Only the owner sets `owner`.',
    ),
  askFirst,
  callsPerMinute: z.int().min(1).max(100_000).describe('Calls beyond it are refused with 429.'),
  constraints: argumentsByTool(
    z
      .record(z.string().min(1).max(200), z.record(z.string().min(1).max(200), z.unknown()))
      .refine((value) => JSON.stringify(value).length <= LONGEST_CONSTRAINTS, {
        error: `Is longer than ${LONGEST_CONSTRAINTS} characters of JSON; give less.`,
      }),
  ).describe('`{tool: {argument: value}}`: arguments fixed for each call, which clients neither see nor give.'),
};

const token = z.object({ prefix: z.string().length(8), hash: z.string().length(64) });

/** The stored record. It keeps only the prefix of each token and its SHA-256 (hex). */
export const capsuleRecord = z.object({
  id: recordId,
  name: capsuleFields.name,
  description: capsuleFields.description.optional(),
  allowedTools: capsuleFields.allowedTools,
  deniedTools: capsuleFields.deniedTools,
  status: capsuleFields.status,
  expiresAt: capsuleFields.expiresAt.optional(),
  askFirst: capsuleFields.askFirst.optional(),
  callsPerMinute: capsuleFields.callsPerMinute.optional(),
  integrationAccounts: capsuleFields.integrationAccounts.optional(),
  constraints: capsuleFields.constraints.optional(),
  token,
  /** Tokens that a rotation replaced. Each works until its time. */
  graceTokens: z.array(token.extend({ until: timestamp })),
  /** Prefixes of the current and the replaced tokens. A capsule is found by them. */
  tokenPrefixes: z.array(z.string()),
  tokenRotatedAt: timestamp,
  /** When the current token was last used. */
  tokenUsedAt: timestamp.optional(),
  ownerId: recordId,
  endsWith: recordId.optional().describe('Expiring API key that created it, and with which it ends.'),
  /** See `budgetSubjects` of principals. Capsules that older versions made have none. */
  budgetSubjects: z.array(z.string()).optional(),
  createdBy: recordId,
  callCount: z.int().min(0),
  lastUsedAt: timestamp.optional(),
  ...bookkeeping,
});
export type CapsuleRecord = z.infer<typeof capsuleRecord>;

/** A named bundle of tools with an MCP endpoint and a token of its own. */
export const capsule = capsuleRecord
  .omit({ token: true, graceTokens: true, tokenPrefixes: true, budgetSubjects: true })
  .extend({
    tokenPrefix: z.string().describe('The token starts with `cpt_<prefix>_`.'),
    tokenRotatedAt: timestamp.describe('When the token was made.'),
    tokenUsedAt: timestamp.optional().describe('When that token was last used.'),
    ownerId: recordId.describe('Admin user the capsule acts for.'),
    createdBy: recordId.describe('Principal that made the capsule.'),
    callCount: z.int().min(0).describe('Tool calls so far.'),
    earlierTokens: z
      .array(z.object({ prefix: z.string(), until: timestamp }))
      .optional()
      .describe('Tokens that the last rotations replaced, and until when each works.'),
  });
export type Capsule = z.infer<typeof capsule>;
