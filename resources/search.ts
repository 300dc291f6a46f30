import { z } from 'zod';
import { timestamp } from './fields.ts';

export const searchText = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .describe('Words to find, in any order; beginnings of words and small misspellings match too.');

export const weakMark = z.literal(true).optional().describe('It hardly fits what is asked.');

/** Where in the text of a document it matches, for get_document. */
const passagePlace = z.object({
  revision: z.int().min(1),
  path: z.string().describe('The headings above it, the outermost first.'),
  offset: z.int().min(0).describe('Where it begins in the content.'),
});

export const searchHit = z.object({
  type: z.string(),
  id: z.string(),
  title: z.string(),
  snippet: z.string().describe('Where it matches. Plain text.'),
  score: z.number().min(0).max(1).describe('1 for an exact match of id, name or e-mail.'),
  updatedAt: timestamp,
  parent: z
    .object({ type: z.string(), id: z.string() })
    .optional()
    .describe('The record it is read with, such as the thread of a message.'),
  weak: weakMark,
  passage: passagePlace.optional().describe('The passage of a document, whose beginning is the snippet.'),
});
export type FoundPlace = z.infer<typeof passagePlace> & { readonly text: string };
export type SearchHit = z.infer<typeof searchHit>;

export const searchResult = z.object({
  data: z.array(searchHit),
  nextCursor: z.string().nullable(),
  facets: z.record(z.string(), z.int().min(1)).describe('How many records match, by type.'),
});

export const meaningState = z
  .enum(['used', 'off', 'unavailable'])
  .describe('off: no embedding model; unavailable: it did not answer, or nothing is embedded yet: words alone.');
