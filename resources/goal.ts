import { z } from 'zod';
import { bookkeeping, date, nameText, recordId } from './fields.ts';

export const goalStatus = z.enum(['planned', 'active', 'achieved', 'dropped']);

export const goalFields = {
  title: nameText(200),
  description: z.string().max(10_000),
  targetDate: date.describe('Like 2026-12-24.'),
  progress: z.number().min(0).max(1).describe('From 0 to 1.'),
};

export const goal = z.object({
  id: recordId,
  title: goalFields.title,
  description: goalFields.description.optional(),
  status: goalStatus,
  projectId: recordId.optional(),
  targetDate: goalFields.targetDate.optional(),
  progress: goalFields.progress,
  ...bookkeeping,
});
export type Goal = z.infer<typeof goal>;
