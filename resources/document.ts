import { z } from 'zod';
import { bookkeeping, nameText, recordId } from './fields.ts';

export const documentFields = {
  title: nameText(200),
  content: z.string().max(500_000).describe('Markdown.'),
  tag: nameText(60),
  tags: z.array(nameText(60)).max(50),
};

export const document = z.object({
  id: recordId,
  title: documentFields.title,
  content: documentFields.content,
  projectId: recordId.optional(),
  tags: documentFields.tags,
  ...bookkeeping,
});
export type Document = z.infer<typeof document>;

/** A document as lists show it, without its text, because a page of whole texts is too long. */
export const documentSummary = document.omit({ content: true });
