import { z } from 'zod';
import { bookkeeping, nameText, recordId } from './fields.ts';
import { accessKeys } from './thread.ts';

export const MOST_BYTES = 1024 * 1024;
const MIME_TYPE = /^[a-z0-9][\w!#$&^.+-]*\/[a-z0-9][\w!#$&^.+-]*(; ?[\w.+-]+=[\w.+-]+)*$/i;

export const artifactFields = {
  name: nameText(200),
  mimeType: z
    .string()
    .max(200)
    .regex(MIME_TYPE, 'Write a media type such as text/csv or image/png.')
    .describe('Media type, e.g. text/csv.'),
  content: z.string().max(500_000).describe('Its content, if that is text.'),
  data: z
    .base64('Not base64; encode the bytes with the alphabet A-Z a-z 0-9 + / and padding.')
    .max(Math.ceil(MOST_BYTES / 3) * 4, 'Is more than 1 MiB of bytes; give less.')
    .describe('Its content in base64, if that is not text; at most 1 MiB of bytes.'),
};

/** Something that was made, such as a table, a picture or a program. It has either `content` or `data`. */
const members = z.object({
  id: recordId,
  name: artifactFields.name,
  mimeType: artifactFields.mimeType,
  content: artifactFields.content.optional(),
  data: artifactFields.data.optional(),
  projectId: recordId.optional(),
  threadId: recordId.optional().describe('Thread that it comes from, which may be deleted since.'),
  ...bookkeeping,
});

/** The stored record. An artifact that names a thread is visible to everybody who can see the thread. */
export const artifactRecord = members.extend({ accessKeys: accessKeys.default([]) });
export type ArtifactRecord = z.infer<typeof artifactRecord>;

export const artifact = members.extend({ sizeBytes: z.int().min(0) });

export const artifactSummary = artifact.omit({ content: true, data: true });
