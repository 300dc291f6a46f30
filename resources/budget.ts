import { z } from 'zod';
import { bookkeeping, recordId, timestamp } from './fields.ts';
import { orAgentName, withFormHints } from './markers.ts';

export const budgetSubjectType = z.enum(['key', 'capsule', 'app', 'agent', 'person', 'workspace']);
export type BudgetSubjectType = z.infer<typeof budgetSubjectType>;

const budgetMeasure = z
  .enum(['calls', 'tokens', 'cost'])
  .describe('calls: tool calls; tokens: what models read and wrote; cost: of these, by the prices of the settings.');
export type BudgetMeasure = z.infer<typeof budgetMeasure>;

const budgetPeriod = z.enum(['day', 'month']).describe('In the time zone of the workspace.');

/** The id of the only one of its type. */
export const WORKSPACE_ID = 'workspace';

const subject = z.object({ type: budgetSubjectType, id: recordId });

/** The members that callers give. */
export const budgetFields = {
  subject: z
    .strictObject({
      type: budgetSubjectType,
      id: orAgentName(recordId, 'type')
        .optional()
        .describe(
          'Of the API key, capsule, connected app, agent (or its name) or person (an admin user); absent for `workspace`.',
        ),
    })
    .describe('Whose use it limits, with all that acts for it and what it makes or owns; workspace: all use.'),
  measure: budgetMeasure,
  period: budgetPeriod,
  limit: z
    .number()
    .positive()
    .max(1e12)
    .describe('Most in one period: whole calls or tokens, or units of the workspace currency.'),
  warnAt: withFormHints(z.number().min(0.01).max(1), { title: 'Warn at' }).describe(
    'Part of the limit at which `budget.warned` happens. Default: 0.8.',
  ),
  enabled: z.boolean().describe('False: the budget is not enforced and does not count.'),
};

const notice = z.enum(['warned', 'reached']);

export const budget = z.object({
  id: recordId,
  subject: subject.extend({ name: z.string().optional().describe('Absent once it is gone.') }),
  measure: budgetMeasure,
  period: budgetPeriod,
  limit: z.number(),
  warnAt: z.number(),
  enabled: z.boolean(),
  currency: z.string().optional().describe('Currency of a cost limit.'),
  used: z.number().min(0).describe('In this period, since the budget was made.'),
  renewsAt: timestamp.describe('When the next period begins.'),
  state: z.enum(['ok', ...notice.options]).describe('warned: `warnAt` is reached; reached: calls are refused.'),
  ...bookkeeping,
});
export type Budget = z.infer<typeof budget>;

const budgetReservation = z.object({
  id: z.string(),
  amount: z
    .int()
    .min(0)
    .describe('0 once its process seems to be gone; if that goes on, what it used counts all the same.'),
  until: timestamp,
  worker: z.string().optional().describe('The process that reserved it, where there can be several.'),
  run: z
    .object({ id: recordId, turn: z.int().min(0) })
    .optional()
    .describe('Whose turns say what was used; `turn` is the place in them, from 0.'),
});
export type BudgetReservation = z.infer<typeof budgetReservation>;

export const budgetRecord = budget.omit({ used: true, state: true }).extend({
  subject,
  key: z.string().describe('Subject, measure and period, of which there is one budget.'),
  subjectKey: z.string(),
  used: z.int().min(0).describe('Calls, tokens, or millionths of the currency.'),
  reservations: z
    .array(budgetReservation)
    .describe(
      'For turns of models under way. One whose process is gone is settled by another, and ends at last by itself.',
    ),
  notice: z
    .object({ level: notice, at: timestamp, revision: z.int() })
    .optional()
    .describe('The last notice of the period, and the revision of the change that gave it.'),
});
export type BudgetRecord = z.infer<typeof budgetRecord>;
