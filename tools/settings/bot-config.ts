import { z } from 'zod';
import {
  BOT_CONFIG_ID,
  type BotConfig,
  type BotConfigRecord,
  botConfig,
  botConfigManaged,
  botConfigUpdate,
} from '../../resources/bot-config.ts';
import { expectedRevision } from '../../resources/fields.ts';
import { serverManaged } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { requireSteeringAll } from '../core/access/steering.ts';
import { invalidMember } from '../core/errors.ts';
import { withoutBookkeeping } from '../core/history/history.ts';
import type { Models } from '../core/models/models.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';

type Sections = BotConfigRecord['promptSections'];

export const getBotConfig = defineTool({
  name: 'get_bot_config',
  title: 'Get bot config',
  description:
    'Read what every agent starts with: prompt sections, the system prompt composed of them, model, token limit.',
  keywords:
    'system prompt, default prompt, base instructions of all agents, default model, global prompt, which model is used when none is set, what prompt do all bots get',
  access: { scope: 'admin', grant: 'settings:read' },
  annotations: READS,
  input: z.strictObject({}),
  output: botConfig,
  errors: [],

  handler: async (_, { store }) => showBotConfig(await readBotConfig(store)),
});

const input = botConfigUpdate.extend({ expectedRevision });
serverManaged.add(input, botConfigManaged);

export const updateBotConfig = defineTool({
  name: 'update_bot_config',
  title: 'Update bot config',
  description:
    'Replace the given fields of the bot config and keep the others; promptSections is replaced as a whole, its order counts. Returns it composed.',
  keywords:
    'change the system prompt, edit the default prompt, base instructions, default model, token limit, tone of all agents, change the prompt of all bots, other default model',
  access: { scope: 'admin', grant: 'settings:write' },
  annotations: UPDATES,
  input,
  output: botConfig,
  errors: ['conflict'],

  async authorize({ promptSections, defaultModel }, context) {
    if (promptSections || defaultModel !== undefined) await requireSteeringAll(context);
  },

  async handler({ promptSections, expectedRevision, ...change }, context) {
    const { store, server } = context;
    if (change.defaultModel !== undefined) requireModel(change.defaultModel, server.models);
    const current = await readBotConfig(store);
    const sections = promptSections && Object.entries(promptSections).map(([name, text]) => ({ name, text }));
    const updated = await store.botConfigs.update(
      BOT_CONFIG_ID,
      { ...change, ...(sections && sectionsChange(current, sections)) },
      { expectedRevision },
    );
    return showBotConfig(updated);
  },
});

export const botConfigKind = defineKind({
  type: 'agent-config',
  collection: 'botConfigs',
  get: getBotConfig,
  update: updateBotConfig,
  address: { uriTemplate: 'bot-config://workspace', title: 'Bot config' },
  event: 'none',
  history: {
    payload: withoutBookkeeping,

    authorizeRestore: (_state, _current, context) => requireSteeringAll(context),

    async prepareRestore(state, current, { server, fail }) {
      const problem = modelProblem(state.defaultModel, server.models);
      if (problem !== undefined) throw fail('conflict', problem);
      return current ? { ...state, ...sectionsChange(current, state.promptSections) } : state;
    },
  },
});

/** @throws where the store was not prepared, which the server does at start. */
export async function readBotConfig(store: Pick<Readers, 'botConfigs'>): Promise<BotConfigRecord> {
  const found = await store.botConfigs.get(BOT_CONFIG_ID);
  if (!found) throw new Error('The store holds no bot config.');
  return found;
}

function composePrompt(sections: Sections): string {
  return sections.map(({ text }) => text).join('\n\n');
}

function showBotConfig({ id: _, promptSections, ...rest }: BotConfigRecord): BotConfig {
  return {
    ...rest,
    systemPrompt: composePrompt(promptSections),
    promptSections: Object.fromEntries(promptSections.map(({ name, text }) => [name, text])),
  };
}

/** The sections with the number of their changes. The number never decreases, also not when an earlier state is restored. */
function sectionsChange(current: BotConfigRecord, promptSections: Sections) {
  const same = sectionsText(promptSections) === sectionsText(current.promptSections);
  return { promptSections, promptConfigVersion: current.promptConfigVersion + (same ? 0 : 1) };
}

function sectionsText(sections: Sections): string {
  return JSON.stringify(sections.map(({ name, text }) => [name, text]));
}

function requireModel(id: string, models: Models): void {
  const problem = modelProblem(id, models);
  if (problem !== undefined) throw invalidMember('defaultModel', problem);
}

function modelProblem(id: string, models: Models): string | undefined {
  if (models.find(id)) return undefined;
  const shown = models.known().slice(0, 10).join(', ');
  return `There is no model ${JSON.stringify(id)}; list_models shows: ${shown}.`;
}
