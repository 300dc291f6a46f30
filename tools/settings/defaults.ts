import { BOT_CONFIG_ID } from '../../resources/bot-config.ts';
import { SETTINGS_ID } from '../../resources/settings.ts';
import type { Store } from '../../store/port.ts';
import { withHistory } from '../core/history/history.ts';
import { OFFLINE_MODEL } from '../core/models/offline-model.ts';
import { botConfigKind } from './bot-config.ts';

const SERVER = { type: 'server', id: 'agent-admin', name: 'agent-admin' };

const botConfigDefaults = {
  id: BOT_CONFIG_ID,
  promptSections: [
    { name: 'role', text: 'You are the assistant of this workspace. You help its members with their work.' },
    {
      name: 'rules',
      text: 'Use the tools you have rather than guess. Say so when you do not know. Ask before you change or delete anything.',
    },
  ],
  promptConfigVersion: 1,
  maxTokens: 4096,
};

const settingsDefaults = {
  id: SETTINGS_ID,
  workspaceName: 'Workspace',
  timezone: 'UTC',
  currency: 'USD',
  exchangeRates: [],
  analytics: { features: {}, funnel: [], activityEvents: 'all' as const },
  signInDomains: [],
  retentionDays: { audit: 365 },
};

/** Adds the records that must always exist, as revision 1 of their history. `defaultModel` is that of a new workspace. */
export async function prepareSettings(store: Store, defaultModel = OFFLINE_MODEL.id): Promise<void> {
  if ((await store.botConfigs.get(BOT_CONFIG_ID)) && (await store.settings.get(SETTINGS_ID))) return;
  await store.transaction(async (tx) => {
    const view = withHistory(tx, [botConfigKind], { author: SERVER });
    if (!(await view.botConfigs.get(BOT_CONFIG_ID)))
      await view.botConfigs.insert({ ...botConfigDefaults, defaultModel });
    if (!(await view.settings.get(SETTINGS_ID))) await view.settings.insert(settingsDefaults);
  });
}
