import { z } from 'zod';
import { attachmentTypes } from './attachment.ts';
import { bookkeeping, nameText, recordId, timestamp } from './fields.ts';
import { weakMark } from './search.ts';

/** Of the text of a file that goes with a message, in characters. */
export const MOST_TEXT = 60_000;

export const documentFields = {
  title: nameText(200),
  content: z.string().max(500_000).describe('Markdown.'),
  tag: nameText(60),
  tags: z.array(nameText(60)).max(50),
};

/** The file that a document was made of. */
const documentSource = z.object({
  name: nameText(500).describe('Name of the file, with its folders where it was imported with others.'),
  mimeType: z.string().describe('What the file contains.'),
  sizeBytes: z.int().min(0),
  sha256: z.string().describe('Of its bytes, in hex.'),
});
export type DocumentSource = z.infer<typeof documentSource>;

/** The file itself. That of a document stays as long as a version of the document can bring it back, that of a message as long as its thread. */
export const documentFileRecord = z.object({
  id: recordId,
  documentId: recordId.optional(),
  threadId: recordId.optional(),
  sha256: z.string(),
  sizeBytes: z.int().min(0),
  /** Of a message: what the file is called, what it holds, and the beginning of its text, with a note of what is missing. */
  name: nameText(200).optional(),
  mediaType: z.enum(attachmentTypes).optional(),
  text: z.string().max(MOST_TEXT).optional(),
  cut: z.string().max(200).optional(),
  /** The principal in whose quota of storage it counts. */
  principalId: z.string().optional(),
  createdAt: timestamp,
});

export const document = z.object({
  id: recordId,
  title: documentFields.title,
  content: documentFields.content,
  projectId: recordId.optional(),
  tags: documentFields.tags,
  source: documentSource.optional().describe('The file that it was made of.'),
  ...bookkeeping,
});
export type Document = z.infer<typeof document>;

/** Where the file is that a document was made of. */
export const documentFile = z.object({
  id: recordId,
  url: z.string().describe('Answers the bytes to whoever may read the document, with the same credentials.'),
});

/** A document as lists show it, without its text, because a page of whole texts is too long. */
export const documentSummary = document.omit({ content: true });

/** Which part of the content an answer holds, in characters. */
export const documentPart = z.object({
  offset: z.int().min(0),
  total: z.int().min(0).describe('Length of the whole content.'),
  nextOffset: z.int().nullable().describe('Where the next part begins; null at the end.'),
});

export const passageType = z.enum(['document', 'memory', 'skill', 'message']);

export const foundPassage = z.object({
  documentId: recordId.optional().describe('Of a document.'),
  type: passageType.optional(),
  id: recordId.optional(),
  threadId: recordId.optional().describe('Of a message.'),
  revision: document.shape.revision.optional(),
  title: z.string(),
  path: z.string().describe('Its headings, the outermost first.'),
  offset: z.int().min(0).describe('Where it begins in the content.'),
  text: z.string(),
  score: z.number().min(0).max(1),
  weak: weakMark,
});
