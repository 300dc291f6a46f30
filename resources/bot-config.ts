import { z } from 'zod';
import { bookkeeping, recordId } from './fields.ts';
import { A_MODEL, serverManaged, withFormHints } from './markers.ts';

/** The id of the only record, and the `entityId` of its versions. */
export const BOT_CONFIG_ID = 'bot-config';

const sectionName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^(?!-?\d+$)/, 'A section name that is an integer would lose its place in the order; add a letter.');
const sectionText = z.string().max(100_000);

/** More than any model reads, in characters of all sections. */
const LONGEST_PROMPT = 500_000;

function isPromptSize(sections: Readonly<Record<string, string>>): boolean {
  return Object.values(sections).reduce((length, text) => length + text.length, 0) <= LONGEST_PROMPT;
}

const botConfigFields = {
  /** The prompt follows the order of the members. JSON objects keep their order, except for names that are integers. */
  promptSections: z
    .record(sectionName, sectionText)
    .refine((sections) => Object.keys(sections).length <= 100, 'Has too many sections; give at most 100.')
    .describe('Sections of the system prompt by name, in order.'),
  defaultModel: withFormHints(z.string().min(1).max(200), A_MODEL).describe('Model id, see list_models.'),
  maxTokens: z.int().min(1024).max(32768).describe('Most tokens of one answer.'),
};

/** The stored record. Its sections are an array, so that every store and every version keeps their order. */
export const botConfigRecord = z.object({
  id: recordId,
  promptSections: z.array(z.object({ name: sectionName, text: sectionText })),
  promptConfigVersion: z.int().min(1),
  defaultModel: botConfigFields.defaultModel,
  maxTokens: botConfigFields.maxTokens,
  ...bookkeeping,
});
export type BotConfigRecord = z.infer<typeof botConfigRecord>;

/** What the prompts and the models of all agents of the workspace begin with. */
export const botConfig = z.object({
  systemPrompt: z.string().describe('Composed of the texts of `promptSections`, in order; read-only.'),
  promptConfigVersion: z.int().min(1).describe('Grows by one with each change of `promptSections`.'),
  ...botConfigFields,
  ...bookkeeping,
});
export type BotConfig = z.infer<typeof botConfig>;

/** The members that clients write. A member that is given replaces the old value; the others stay. */
export const botConfigUpdate = z.strictObject({
  promptSections: botConfigFields.promptSections
    .refine(isPromptSize, `Has too much text; give at most ${LONGEST_PROMPT} characters in all.`)
    .describe(`Sections of the system prompt by name, in order; at most ${LONGEST_PROMPT} characters in all.`)
    .optional(),
  defaultModel: botConfigFields.defaultModel.optional(),
  maxTokens: botConfigFields.maxTokens.optional(),
});
/** Members of an answer that an update may not contain. Schemas that extend the update use it. */
export const botConfigManaged = {
  members: {
    systemPrompt: 'is composed by the server; write promptSections',
    promptConfigVersion: 'is counted by the server',
  },
};
serverManaged.add(botConfigUpdate, botConfigManaged);
