import { z } from 'zod';
import { nameText, recordId } from './fields.ts';
import { refTo } from './markers.ts';

export const imageTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
export const attachmentTypes = [...imageTypes, 'application/pdf', 'text/plain', 'text/csv', 'text/markdown'] as const;
export type AttachmentType = (typeof attachmentTypes)[number];

export const MOST_ATTACHMENTS = 10;

/** A file that belongs to a message. Its bytes are kept with the thread. */
export const attachment = z.object({
  id: recordId.describe('See `file` of get_thread.'),
  name: nameText(200),
  mediaType: z.enum(attachmentTypes).describe('By its content.'),
  sizeBytes: z.int().min(0),
  sha256: z.string().describe('Of its bytes, in hex.'),
  tokens: z.int().min(0).describe('Of a prompt, an estimate.'),
});
export type Attachment = z.infer<typeof attachment>;

/** Bytes of all that comes as base64 in one message of MCP. */
const MOST_INLINE_BYTES = 3_000_000;

/** One of `artifactId` and `data`; over REST, bytes in a form instead. */
const attachmentInput = z.strictObject({
  artifactId: refTo('artifact', recordId).optional(),
  name: attachment.shape.name.optional(),
  mediaType: nameText(200).optional(),
  data: z
    .base64('Not base64; encode the bytes with the alphabet A-Z a-z 0-9 + / and padding.')
    .max((MOST_INLINE_BYTES / 3) * 4, `Is more than ${MOST_INLINE_BYTES} bytes; send the file in a form over REST.`)
    .optional()
    .describe('Base64.'),
  sha256: z
    .string()
    .length(64)
    .regex(/^[0-9a-f]{64}$/, 'Write 64 hex digits in lower case.')
    .optional(),
});
export type AttachmentInput = z.infer<typeof attachmentInput>;

export const attachmentsInput = z
  .array(attachmentInput)
  .max(MOST_ATTACHMENTS, `At most ${MOST_ATTACHMENTS} files go with a message; send the others with the next one.`)
  .describe('Images (PNG, JPEG, WebP, GIF), PDF and texts: `artifactId`, or `name` and `data`.');
