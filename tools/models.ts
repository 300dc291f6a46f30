import { z } from 'zod';
import { noNextPage } from '../resources/fields.ts';
import { model } from '../resources/model.ts';
import { defineTool, READS } from './core/registry/define-tool.ts';

export const listModels = defineTool({
  name: 'list_models',
  title: 'List models',
  description: 'List the models agents can run on, with availability. Use an id as `modelPreference`.',
  keywords:
    'LLMs, language models, GPT, Claude, Gemini, Llama, providers, which AI can I choose, is Claude available, which model ids are there',
  access: { scope: 'agents:read', grant: 'model:read' },
  annotations: READS,
  input: z.strictObject({}),
  output: z.object({ data: z.array(model), nextCursor: noNextPage }),
  errors: [],

  handler: async (_, { server }) => ({ data: [...(await server.models.list())], nextCursor: null }),
});
