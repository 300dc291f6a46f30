import { z } from 'zod';
import { modelInput } from './model-provider.ts';

/** A language model that agents can use. Its id has the form `provider/name`, and the name may contain slashes. */
export const model = z.object({
  id: z.string(),
  provider: z.string(),
  name: z.string(),
  description: z.string(),
  contextTokens: z
    .int()
    .min(1)
    .optional()
    .describe('Most tokens of a conversation, where its provider record says so.'),
  maxOutputTokens: z.int().min(1).optional().describe('Most tokens of an answer, where it says so.'),
  available: z.boolean().describe('The provider answered when it was last asked.'),
  inputs: z.array(modelInput).describe('What it reads.'),
  capabilities: z.object({ tools: z.boolean(), streaming: z.boolean(), structuredOutput: z.boolean() }),
});
export type Model = z.infer<typeof model>;
