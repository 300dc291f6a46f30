import { z } from 'zod';
import { bookkeeping, nameText, recordId } from './fields.ts';

export const skillFields = {
  name: nameText(120),
  displayName: z.string().min(1).max(200),
  description: z.string().max(2000),
  instructions: z.string().max(200_000).describe('Instructions for agents that have the skill. Markdown.'),
};

/** Instructions that several agents can share. */
export const skill = z.object({
  id: recordId,
  name: skillFields.name,
  displayName: skillFields.displayName.optional(),
  description: skillFields.description.optional(),
  instructions: skillFields.instructions.optional(),
  ...bookkeeping,
});
export type Skill = z.infer<typeof skill>;
