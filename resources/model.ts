import { z } from 'zod';

/** A language model that agents can use. Its id has the form `provider/name`, and the name may contain slashes. */
export const model = z.object({
  id: z.string(),
  provider: z.string(),
  name: z.string(),
  description: z.string(),
  available: z.boolean().describe('The provider answered when it was last asked.'),
  capabilities: z.object({ tools: z.boolean(), streaming: z.boolean(), structuredOutput: z.boolean() }),
});
export type Model = z.infer<typeof model>;
