import { z } from 'zod';

/** Every error code, with the HTTP status that REST answers. */
export const errorStatus = {
  approval_required: 202,
  invalid_input: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  interrupted: 410,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const;
export type ErrorCode = keyof typeof errorStatus;

export const errorCode = z.enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]]);

const issue = z.object({ path: z.string(), message: z.string() });
export type Issue = z.infer<typeof issue>;

/** What would have allowed the call: the scope, the narrowest grant, the role in the record that it is about, another credential or endpoint, or a fresh sign-in. */
export const requiredRight = z.object({
  scope: z.string().optional(),
  grant: z.string().optional(),
  role: z.string().optional().describe('Role in the thread, given by its access entries.'),
  credential: z
    .literal('capsule-token')
    .optional()
    .describe('The endpoint of a capsule takes its token, or an app that was connected there.'),
  endpoint: z.string().optional().describe('Path of the one endpoint that the token or the app opens.'),
  freshSignIn: z.literal(true).optional().describe('The person must confirm that it is them.'),
});
export type RequiredRight = z.infer<typeof requiredRight>;

export const errorBody = z.object({
  error: z.string().describe('A sentence that names the next step.'),
  code: errorCode,
  requestId: z.string(),
  issues: z.array(issue).optional().describe('Every problem of the input, each with the path of the member.'),
  required: requiredRight.optional().describe('The missing right of a `forbidden` error.'),
  runId: z.string().optional().describe('The run of an agent that the call began, see get_agent_run.'),
  threadId: z.string().optional().describe('The thread in which that run was to answer.'),
  approvalId: z.string().optional().describe('The approval that the call waits for, see get_approval.'),
  expiresAt: z.string().optional().describe('Until when it can be decided.'),
  url: z.string().optional().describe('The page on which a person decides.'),
  currentRevision: z.int().optional().describe('The revision that a stale `expectedRevision` should have named.'),
});
export type ErrorBody = z.infer<typeof errorBody>;
