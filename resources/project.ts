import { z } from 'zod';
import { bookkeeping, nameText, recordId } from './fields.ts';

export const projectStatus = z.enum(['planned', 'active', 'paused', 'completed', 'archived']);

export const projectFields = {
  name: nameText(200),
  description: z.string().max(10_000),
};

/** Goals, tasks, documents and artifacts belong to a project. */
export const project = z.object({
  id: recordId,
  name: projectFields.name,
  description: projectFields.description.optional(),
  status: projectStatus,
  ...bookkeeping,
});
export type Project = z.infer<typeof project>;
