import { z } from 'zod';
import { agentRef, bookkeeping, recordId } from './fields.ts';
import { currency, month, timezone } from './locale.ts';

/** The id of the only record. */
export const SETTINGS_ID = 'settings';

const eventName = z.string().min(1).max(200);
const domain = z
  .string()
  .max(253)
  .regex(
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
    'Write a domain in small letters, like example.com.',
  );

const exchangeRate = z.strictObject({
  month,
  currency,
  rate: z
    .number()
    .positive()
    .max(1e9)
    .describe('Units of the workspace currency for one unit of `currency` in that month.'),
});

/** The names of the imported events that the metrics count, by what they mean. */
const analyticsEvents = z.strictObject({
  features: z
    .record(z.string().min(1).max(200), z.array(eventName).min(1).max(100))
    .refine((features) => Object.keys(features).length <= 200, 'Has too many features; give at most 200.')
    .describe('Event names by the feature they are a use of.'),
  funnel: z.array(eventName).max(50).describe('Events of the onboarding funnel, in order.'),
  activityEvents: z.union([z.literal('all'), z.array(eventName).max(500)]).describe('Events that make a user active.'),
});

/** The members of the settings, without `revision` and times. */
export const settingsFields = {
  workspaceName: z.string().trim().min(1).max(120),
  timezone: timezone.describe('IANA time zone of the workspace; the default of metrics and schedules.'),
  currency: currency.describe('ISO 4217 code of the currency that metrics are given in.'),
  exchangeRates: z
    .array(exchangeRate)
    .max(5000)
    .describe('Rates to the workspace currency, at most one per month and currency.'),
  defaultAgentId: agentRef.describe('Agent that answers where none is named.'),
  analytics: analyticsEvents,
  signInDomains: z
    .array(domain)
    .max(100)
    .describe('Where not empty, only e-mails of these domains, in small letters, may sign in.'),
  retentionDays: z
    .strictObject({ audit: z.int().min(1).max(36_500).nullable().describe('null keeps audit entries forever.') })
    .describe('Days after which entries are deleted.'),
};

export const settingsRecord = z.object({
  id: recordId,
  ...settingsFields,
  defaultAgentId: settingsFields.defaultAgentId.optional(),
  ...bookkeeping,
});
export type SettingsRecord = z.infer<typeof settingsRecord>;

/** Settings of the workspace. */
export const settings = settingsRecord.omit({ id: true });
export type Settings = z.infer<typeof settings>;
