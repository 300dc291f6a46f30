import { z } from 'zod';
import { type Model, model } from '../../resources/model.ts';
import { defineTool, READS } from '../define-tool.ts';

const BUILT_IN: Model = {
  id: 'offline/rehearsal',
  provider: 'offline',
  name: 'rehearsal',
  description: 'Built in, deterministic, without network: for rehearsing agents and tools without a provider.',
  available: true,
  capabilities: { tools: true, streaming: true, structuredOutput: false },
};

/** The model of a workspace that chose none. */
export const DEFAULT_MODEL = BUILT_IN.id;

/** Every model that agents can be given. */
export function availableModels(): readonly Model[] {
  return [BUILT_IN];
}

export const listModels = defineTool({
  name: 'list_models',
  title: 'List models',
  description: 'List the models agents can run on, with availability. Use an id as `modelPreference`.',
  access: { scope: 'agents:read', grant: 'model:read' },
  annotations: READS,
  input: z.strictObject({}),
  output: z.object({ data: z.array(model) }),
  errors: [],

  handler: async () => ({ data: [...availableModels()] }),
});
