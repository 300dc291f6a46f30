import { z } from 'zod';
import { type Agent, agent } from '../../resources/agent.ts';
import { allowlistWarnings } from '../core/access/allowlist.ts';
import { nearest } from '../core/access/similar-names.ts';
import type { ServerFacts } from '../core/registry/context.ts';
import type { Models } from '../models/models.ts';
import { maskAgent } from './identity.ts';

/** An agent as answers show it. */
export const agentAnswer = agent.extend({
  warnings: z
    .array(z.string())
    .optional()
    .describe('Entries of `tools` that match no tool now, and a model that is not there now.'),
});

/** Makes every answer with an agent: secrets masked, with warnings about its allowlist and its model. */
export function showAgent(record: Agent, { catalog, models }: AgentFacts): z.input<typeof agentAnswer> {
  const idle = record.tools ? allowlistWarnings(record.tools, catalog) : [];
  const warnings = [...idle, ...modelWarnings(record, models)];
  return warnings.length > 0 ? { ...maskAgent(record), warnings } : maskAgent(record);
}

type AgentFacts = Pick<ServerFacts, 'catalog' | 'models'>;

/** Models come and go with their providers, so an unknown model is a warning and no error. */
function modelWarnings({ modelPreference: id }: Agent, models: Models): string[] {
  if (id === undefined || models.has(id)) return [];
  const close = nearest(id, models.known(), 3);
  const hint = close.length > 0 ? `similar ones: ${close.join(', ')}` : 'list_models shows those there are';
  return [
    `modelPreference: there is no model ${JSON.stringify(id)} now, and until there is the agent cannot run; ${hint}.`,
  ];
}
