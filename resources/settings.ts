import { z } from 'zod';
import { agentRef, bookkeeping, email, recordId } from './fields.ts';
import { currency, month, timezone } from './locale.ts';
import { modelPrice } from './model-price.ts';

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

const switchName = z
  .string()
  .regex(/^[A-Za-z][\w.-]*$/, 'Write a name of letters, digits, dots, - and _.')
  .max(100);

const days = z.int().min(1).max(36_500).nullable();

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

export const MOST_PRICES = 2000;

/** The members of the settings, without `revision` and times. */
export const settingsFields = {
  workspaceName: z.string().trim().min(1).max(120),
  timezone: timezone.describe('IANA time zone of the workspace; the default of metrics and schedules.'),
  currency: currency.describe('ISO 4217 code of the currency that metrics are given in.'),
  exchangeRates: z
    .array(exchangeRate)
    .max(5000)
    .describe('Rates to the workspace currency, at most one per month and currency.'),
  prices: z
    .array(modelPrice)
    .max(MOST_PRICES)
    .describe('What models cost, at most one price per model and date. Tokens without a price cost an unknown amount.'),
  defaultAgentId: agentRef.describe('Agent that answers where none is named.'),
  analytics: analyticsEvents,
  signInDomains: z
    .array(domain)
    .max(100)
    .describe('Where not empty, only e-mails of these domains, in small letters, may sign in.'),
  retentionDays: z
    .strictObject({
      audit: days.describe('Audit entries.'),
      runs: days.optional().describe('Ended runs of agents and flows. Default: 30.'),
      threads: days.optional().describe('Threads in which nothing was said or changed. Default: null.'),
      approvals: days.optional().describe('Calls that waited for a person and were decided or expired. Default: 90.'),
      usage: days.optional().describe('Hourly figures of usage. Default: 730.'),
    })
    .describe('Days after which these are deleted, once a day; null keeps them forever.'),
  approvalHours: z.int().min(1).max(720).describe('Hours for which a call waits for approval. Default: 24.'),
  mailRecipients: z
    .strictObject({
      addresses: z.array(email.toLowerCase()).max(500),
      domains: z.array(domain).max(100),
    })
    .describe('Where send_mail goes besides admin users.'),
  mailAskFirst: z.boolean().describe('Agents, flows, apps and keys need approval for each send_mail.'),
  featureSwitches: z
    .record(switchName, z.boolean())
    .refine((switches) => Object.keys(switches).length <= 200, 'Has too many switches; give at most 200.')
    .describe('Feature switches by name, for clients of this workspace; the server reads none.'),
};

const { addresses, domains } = settingsFields.mailRecipients.shape;

/** The members on update: of `analytics` and `retentionDays`, those that are not given stay; one of those who receive mail is enough. */
export const settingsPatch = {
  ...settingsFields,
  analytics: partOf(settingsFields.analytics),
  retentionDays: partOf(settingsFields.retentionDays),
  mailRecipients: settingsFields.mailRecipients
    .extend({ addresses: addresses.default([]), domains: domains.default([]) })
    .describe(settingsFields.mailRecipients.description ?? ''),
};

function partOf<Shape extends z.core.$ZodShape>(group: z.ZodObject<Shape, z.core.$strict>) {
  const part = group.partial();
  return group.description === undefined ? part : part.describe(group.description);
}

export const settingsRecord = z.object({
  id: recordId,
  ...settingsFields,
  prices: settingsFields.prices.optional(),
  approvalHours: settingsFields.approvalHours.optional(),
  mailRecipients: settingsFields.mailRecipients.optional(),
  mailAskFirst: settingsFields.mailAskFirst.optional(),
  featureSwitches: settingsFields.featureSwitches.optional(),
  defaultAgentId: settingsFields.defaultAgentId.optional(),
  ...bookkeeping,
});
export type SettingsRecord = z.infer<typeof settingsRecord>;

export const settings = settingsRecord.omit({ id: true });
export type Settings = z.infer<typeof settings>;
