import { z } from 'zod';
import { principalRef } from './audit-entry.ts';
import { agentRef, bookkeeping, recordId, timestamp } from './fields.ts';
import { SECRET_MASK } from './integration.ts';
import { timezone } from './locale.ts';
import { refTo, secret, storedCallOf, withFormHints } from './markers.ts';

const text = z.string().max(100_000);
const cronExpression = withFormHints(z.string().min(1).max(200), { control: 'cron' }).describe(
  'Five fields: minute, hour, day, month, weekday.',
);
const eventType = z.string().min(1).max(200).describe('Type of the events that start a run.');

const stepFields = {
  id: z
    .string()
    .max(60)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'Write a name of letters, digits and _ that starts with no digit.')
    .describe('Letters, digits and _, unique in the flow; later steps refer to the output as `steps.<id>.output`.'),
  tool: refTo('tool', z.string().min(1).max(200)).describe('Name of the tool to call.'),
  arguments: z
    .record(z.string(), z.unknown())
    .describe('Of the tool; texts are Liquid templates over `steps.<id>.output` and `input`.'),
  when: withFormHints(z.string().min(1).max(2000), { control: 'code' }).describe(
    'CEL condition over `steps` and `input`; the step is skipped if false.',
  ),
  approval: z.boolean().describe('True: waits for approval before it runs, whoever runs the flow.'),
  onError: z.enum(['stop', 'continue']),
  attempts: z.int().min(1).max(10).describe('Most attempts, including the first.'),
  delayMs: z.int().min(0).max(3_600_000).describe('Wait before the next try.'),
};

export const flowStep = z.object({
  id: stepFields.id,
  tool: stepFields.tool,
  arguments: stepFields.arguments,
  when: stepFields.when.optional(),
  approval: stepFields.approval.optional(),
  onError: stepFields.onError,
  retry: z.object({ attempts: stepFields.attempts, delayMs: stepFields.delayMs }),
});
export type FlowStep = z.infer<typeof flowStep>;

const flowStepInput = storedCallOf(
  'tool',
  z.strictObject({
    id: stepFields.id.refine((id) => !(id in {}), 'Every object has a member with this name; choose another.'),
    tool: stepFields.tool,
    arguments: stepFields.arguments.default({}),
    when: stepFields.when.optional(),
    approval: stepFields.approval.optional(),
    onError: stepFields.onError.default('stop'),
    retry: z
      .strictObject({ attempts: stepFields.attempts.default(1), delayMs: stepFields.delayMs.default(1000) })
      .default({ attempts: 1, delayMs: 1000 }),
  }),
);

/** How senders sign what they send. */
export const webhookScheme = z.enum(['github', 'stripe', 'slack', 'standard', 'hmac']);
export type WebhookScheme = z.infer<typeof webhookScheme>;

/** The secret itself is kept in a record of its own. */
const flowSignature = z.object({
  scheme: webhookScheme,
  secret: z.literal(SECRET_MASK).optional().describe('Absent if it must be given before deliveries are taken.'),
  givenAt: timestamp.optional().describe('When the secret was given.'),
});
export type FlowSignature = z.infer<typeof flowSignature>;

const SECRET_FORM = 'Write 16 to 500 printable ASCII characters without spaces around them.';

const flowSignatureInput = z
  .strictObject({
    scheme: webhookScheme.describe('`standard` is Standard Webhooks; `hmac` signs `<timestamp>.<body>`.'),
    secret: secret(
      z
        .string()
        .max(500, { error: SECRET_FORM, abort: true })
        .regex(new RegExp(`^(?:[\\x21-\\x7e][\\x20-\\x7e]{14,498}[\\x21-\\x7e]|${SECRET_MASK})$`), SECRET_FORM)
        .describe(`Secret that the sender signs with; ${SECRET_MASK} keeps the stored one.`),
    ),
  })
  .describe('Lets the flow accept deliveries signed this way, without an API key.');

const flowTrigger = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('manual') }),
  z.object({ kind: z.literal('cron'), expression: cronExpression, timezone }),
  z.object({ kind: z.literal('webhook'), signature: flowSignature.optional() }),
  z.object({ kind: z.literal('event'), type: eventType }),
]);

/** What happens when a run should start while another run of the same flow is still going. */
export const flowOverlap = z
  .enum(['queue', 'allow'])
  .describe(
    'A run due while another is under way: `queue` waits for its end (a scheduled one is skipped), `allow` runs beside it.',
  );

const flowTriggerInput = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('manual') }),
  z.strictObject({
    kind: z.literal('cron'),
    expression: cronExpression,
    timezone: timezone.optional().describe('IANA time zone. Default: the current one of the workspace.'),
  }),
  z.strictObject({ kind: z.literal('webhook'), signature: flowSignatureInput.optional() }),
  z.strictObject({ kind: z.literal('event'), type: eventType }),
]);
export type FlowTriggerInput = z.output<typeof flowTriggerInput>;

export const flowFields = {
  name: z.string().trim().min(1).max(120),
  description: z.string().max(2000),
  steps: z.array(flowStep).max(100),
  prompt: text.min(1).describe('The message to the agent; a Liquid template over `input`.'),
  agentId: agentRef.describe('Agent that does the work, instead of `steps`: id or name, see list_agents.'),
};

export const flowInputFields = { ...flowFields, steps: z.array(flowStepInput).max(100), trigger: flowTriggerInput };

export const flowRunAs = principalRef.extend({
  endsWith: recordId
    .optional()
    .describe('Expiring API key behind the session of that person: its end ends the rights.'),
  budgetSubjects: z
    .array(z.string())
    .optional()
    .describe('Where the link of an API key signed that person in: whose budgets the runs count against too.'),
});
export type FlowRunAs = z.infer<typeof flowRunAs>;

/** A flow: when something triggers it, either tools run one after the other, or an agent runs. */
export const flow = z.object({
  id: recordId,
  name: flowFields.name,
  description: flowFields.description.optional(),
  enabled: z.boolean(),
  trigger: flowTrigger,
  steps: flowFields.steps.optional(),
  agentId: flowFields.agentId.optional(),
  prompt: flowFields.prompt.optional(),
  overlap: flowOverlap.optional(),
  runAs: flowRunAs.describe('Whose rights the runs have: who created it or last changed what it does.'),
  ...bookkeeping,
});
export type Flow = z.infer<typeof flow>;
