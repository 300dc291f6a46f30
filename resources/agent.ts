import { z } from 'zod';
import { agentIdentity } from './agent-identity.ts';
import { askFirst } from './approval.ts';
import { documentFields } from './document.ts';
import { bookkeeping, nameText, recordId } from './fields.ts';
import { A_MODEL, orNameOf, refTo, withFormHints } from './markers.ts';

export const agentStatus = z.enum(['active', 'paused', 'deleted']);

export const memoryPolicy = z.object({
  remember: z.boolean().describe('The agent may store memories.'),
  maxInjected: z.int().min(0).max(200).describe('Most memories put into its prompt.'),
});

/** Documents from which it answers: of these projects and with one of these tags, or all. */
const agentKnowledge = z.object({
  projectIds: z
    .array(refTo('project', recordId))
    .min(1)
    .max(10)
    .optional()
    .describe('Documents of these projects. Default: all.'),
  tags: z.array(documentFields.tag).min(1).max(50).optional().describe('Documents with one of these tags.'),
  maxPassages: z.int().min(1).max(20).describe('Most passages put into its prompt.'),
});

export const knowledgeInput = agentKnowledge
  .extend({ maxPassages: agentKnowledge.shape.maxPassages.default(5) })
  .strict()
  .describe('Documents that it answers from, with citations: fitting passages are put into its prompt.');

export const agentFields = {
  name: nameText(120),
  displayName: z.string().min(1).max(200),
  description: z.string().max(2000),
  modelPreference: withFormHints(z.string().min(1).max(200), A_MODEL).describe('Model id, see list_models.'),
  fallbackModels: z
    .array(withFormHints(z.string().min(1).max(200), A_MODEL))
    .max(5)
    .describe(
      'Models asked in turn where the one before is overloaded, too slow or unreachable and has said nothing yet.',
    ),
  temperature: z.number().min(0).max(2).describe('Default: that of the provider.'),
  maxOutputTokens: z.int().min(1).max(1_000_000).describe('Of a turn. Default: `maxTokens` of the bot config.'),
  reasoningEffort: z.enum(['low', 'medium', 'high']).describe('For models that reason.'),
  timeoutSeconds: z.int().min(1).max(300).describe('Seconds the model may stay silent in a turn.'),
  instructions: z.string().max(100_000).describe('System prompt of the agent.'),
  tools: withFormHints(z.array(z.string().min(1).max(200)).max(500), { control: 'tools' }).describe(
    'Tool allowlist: tool names or globs such as `list_*`.',
  ),
  askFirst,
  skillIds: z.array(orNameOf('skill', refTo('skill', recordId))).max(100),
  maxSteps: z.int().min(1).max(50).describe('Model turns per run.'),
};

/** An agent has a persona, a model, a tool allowlist and memory. This is the stored record; answers mask its identity. */
export const agent = z.object({
  id: recordId,
  name: agentFields.name,
  displayName: agentFields.displayName,
  description: agentFields.description.optional(),
  modelPreference: agentFields.modelPreference.optional(),
  fallbackModels: agentFields.fallbackModels.optional(),
  temperature: agentFields.temperature.optional(),
  maxOutputTokens: agentFields.maxOutputTokens.optional(),
  reasoningEffort: agentFields.reasoningEffort.optional(),
  timeoutSeconds: agentFields.timeoutSeconds.optional(),
  status: agentStatus,
  instructions: agentFields.instructions.optional(),
  tools: agentFields.tools.optional(),
  askFirst: agentFields.askFirst.optional(),
  skillIds: agentFields.skillIds.optional(),
  maxSteps: agentFields.maxSteps,
  memoryPolicy,
  knowledge: agentKnowledge.optional(),
  identity: agentIdentity.optional(),
  ...bookkeeping,
});
export type Agent = z.infer<typeof agent>;
