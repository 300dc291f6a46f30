import { z } from 'zod';
import { bookkeeping, nameText, recordId, time } from './fields.ts';

export const taskStatus = z.enum(['todo', 'in_progress', 'blocked', 'done']);
export const taskPriority = z.enum(['low', 'normal', 'high', 'urgent']);

export const taskFields = {
  title: nameText(200),
  dueAt: time,
  content: z.string().max(500_000).describe('Markdown.'),
};

export const task = z.object({
  id: recordId,
  title: taskFields.title,
  status: taskStatus,
  priority: taskPriority,
  projectId: recordId.optional(),
  goalId: recordId.optional(),
  assigneeAgentId: recordId.optional(),
  dueAt: taskFields.dueAt.optional(),
  ...bookkeeping,
});
export type Task = z.infer<typeof task>;

/** The text of a task. It exists as long as the task does, and has a revision and versions of its own. */
export const taskDocument = z.object({
  id: recordId.describe('Id of the task.'),
  content: taskFields.content,
  ...bookkeeping,
});
