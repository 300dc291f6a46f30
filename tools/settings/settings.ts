import { z } from 'zod';
import type { Issue } from '../../resources/error.ts';
import { expectedRevision, plainLine } from '../../resources/fields.ts';
import {
  SETTINGS_ID,
  type Settings,
  type SettingsRecord,
  settings,
  settingsFields,
  settingsPatch,
} from '../../resources/settings.ts';
import type { Readers } from '../../store/port.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import { invalidMember, requireNoIssues } from '../core/errors.ts';
import { defineTool, type Fail, READS, UPDATES } from '../core/registry/define-tool.ts';
import { definedMembers } from '../core/registry/validate.ts';

const getSettings = defineTool({
  name: 'get_settings',
  title: 'Get settings',
  description:
    'Read the workspace settings: name, time zone, currency and rates, prices of models, default agent, analytics events, sign-in, retention.',
  keywords:
    'configuration, preferences, workspace options, time zone, currency, how is it configured, show workspace settings, what is our time zone, current configuration',
  access: { scope: 'admin', grant: 'settings:read' },
  annotations: READS,
  input: z.strictObject({}),
  output: settings,
  errors: [],

  handler: async (_, { store }) => showSettings(await readSettings(store)),
});

const updateSettings = defineTool({
  name: 'update_settings',
  title: 'Update settings',
  description:
    'Change workspace settings: given fields are replaced, those of `analytics` and `retentionDays` each by itself; others stay, null clears defaultAgentId. Returns the settings.',
  keywords:
    'configure, preferences, time zone, currency, exchange rates, model prices, log retention days, workspace name, logo, default agent, password policy, set the time zone, change the currency, how long logs are kept, change retention, change workspace settings',
  access: { scope: 'admin', grant: 'settings:write' },
  annotations: UPDATES,
  bulk: true,
  input: z.strictObject({
    workspaceName: plainLine(settingsFields.workspaceName).optional(),
    timezone: settingsFields.timezone.optional(),
    currency: settingsFields.currency.optional(),
    exchangeRates: settingsFields.exchangeRates.optional(),
    prices: settingsFields.prices.optional(),
    defaultAgentId: settingsFields.defaultAgentId.nullable().optional(),
    analytics: settingsPatch.analytics.optional(),
    signInDomains: settingsFields.signInDomains.optional(),
    retentionDays: settingsPatch.retentionDays.optional(),
    approvalHours: settingsFields.approvalHours.optional(),
    mailRecipients: settingsPatch.mailRecipients.optional(),
    mailAskFirst: settingsFields.mailAskFirst.optional(),
    featureSwitches: settingsFields.featureSwitches.optional(),
    expectedRevision,
  }),
  output: settings,
  errors: ['conflict'],
  needsApproval: async (input, store, inPerson) => !inPerson && mailsUnasked(input, store),

  async authorize(input, { store, principal }) {
    if (await mailsUnasked(input, store)) requireWithinRights(principal, { fullAccess: true });
  },

  async handler({ expectedRevision, analytics, retentionDays, ...fields }, { store }) {
    const current = await readSettings(store);
    const change = {
      ...fields,
      ...(analytics && { analytics: { ...current.analytics, ...definedMembers(analytics) } }),
      ...(retentionDays && { retentionDays: { ...current.retentionDays, ...definedMembers(retentionDays) } }),
    };
    await requireAgent(store, change.defaultAgentId);
    requireUsableRates(current, change);
    requireOnePrice(change.prices ?? []);
    return showSettings(await store.settings.update(SETTINGS_ID, change, { expectedRevision }));
  },
});

export const settingsTools = [getSettings, updateSettings];

/** Whether mails that wait for a person would wait no more, or go to others without. */
async function mailsUnasked(input: object, store: Pick<Readers, 'settings'>): Promise<boolean> {
  const { mailAskFirst, mailRecipients } = input as Partial<SettingsRecord>; // of the tool that has them
  if (mailAskFirst !== false && mailRecipients === undefined) return false;
  const current = await readSettings(store);
  if (mailAskFirst ?? current.mailAskFirst ?? true) return false;
  return current.mailAskFirst !== false || mailRecipients !== undefined;
}

/** @throws where the store was not prepared, which the server does at start. */
export async function readSettings(store: Pick<Readers, 'settings'>): Promise<SettingsRecord> {
  const found = await store.settings.get(SETTINGS_ID);
  if (!found) throw new Error('The store holds no settings.');
  return found;
}

/** @throws where the agent is the default agent of the settings. */
export async function requireNotDefaultAgent(
  { store, fail }: { readonly store: Pick<Readers, 'settings'>; readonly fail: Fail<'conflict'> },
  id: string,
): Promise<void> {
  if ((await readSettings(store)).defaultAgentId !== id) return;
  throw fail('conflict', 'The agent is the defaultAgentId of the settings; name another with update_settings first.');
}

function showSettings({ id: _, ...shown }: SettingsRecord): Settings {
  return shown;
}

async function requireAgent(store: Pick<Readers, 'agents'>, id: string | null | undefined): Promise<void> {
  if (typeof id !== 'string') return;
  const agent = await store.agents.get(id);
  if (agent && agent.status !== 'deleted') return;
  throw invalidMember(
    'defaultAgentId',
    agent ? `The agent ${id} is deleted; name another.` : `There is no agent ${id}; see list_agents.`,
  );
}

/** There is one rate for each month and currency, no rate of the workspace currency to itself, and no rate to another currency. */
function requireUsableRates(
  current: Pick<Settings, 'currency' | 'exchangeRates'>,
  { currency = current.currency, exchangeRates }: { currency?: string | undefined; exchangeRates?: Rates | undefined },
): void {
  const issues: Issue[] = [];
  if (!exchangeRates && currency !== current.currency && current.exchangeRates.length > 0) {
    const message = `The rates there are lead to ${current.currency}; give those to ${currency} too, or [].`;
    issues.push({ path: 'exchangeRates', message });
  }
  const seen = new Set<string>();
  for (const [index, rate] of (exchangeRates ?? []).entries()) {
    const path = `exchangeRates[${index}]`;
    const key = `${rate.month} ${rate.currency}`;
    if (seen.has(key)) issues.push({ path, message: `${rate.currency} has a rate for ${rate.month} already.` });
    if (rate.currency === currency) {
      issues.push({ path, message: `${currency} is the workspace currency; rates are of other currencies to it.` });
    }
    seen.add(key);
  }
  requireNoIssues(issues, 100);
}

/** A model has one price from a date on. */
function requireOnePrice(prices: NonNullable<Settings['prices']>): void {
  const seen = new Set<string>();
  const issues: Issue[] = [];
  for (const [index, { model, from }] of prices.entries()) {
    const key = `${from} ${model}`;
    const message = `${model} has a price from ${from} on already; leave one of them out.`;
    if (seen.has(key)) issues.push({ path: `prices[${index}]`, message });
    seen.add(key);
  }
  requireNoIssues(issues, 100);
}

type Rates = Settings['exchangeRates'];
