import type { Document } from '../../resources/document.ts';
import type { Memory } from '../../resources/memory.ts';
import type { Message } from '../../resources/message.ts';
import type { Skill } from '../../resources/skill.ts';
import type { TextSource } from '../documents/find-passages.ts';
import { passagesOf } from '../documents/passages.ts';

/** The collections whose texts are found by meaning. */
export const EMBEDDED = ['documents', 'memories', 'skills', 'messages'] as const;
export type EmbeddedCollection = (typeof EMBEDDED)[number];
/** What their records are called where passages are found. */
export const TYPES = { documents: 'document', memories: 'memory', skills: 'skill', messages: 'message' } as const;
export type TextRecord = { readonly id: string; readonly createdAt: string; readonly revision?: number };

export function isEmbedded(collection: string): collection is EmbeddedCollection {
  return (EMBEDDED as readonly string[]).includes(collection);
}

/** Counts up where texts are split in another way, so that all are embedded anew. */
const FORMAT = 1;
/** Models have limits, and headings can be endless. */
const LONGEST_HEADINGS = 800;

const SOURCES: { readonly [Name in EmbeddedCollection]: (record: never) => Omit<TextSource, 'id' | 'state'> } = {
  documents: ({ title, content }: Document) => ({ title, content }),
  memories: ({ content }: Memory) => ({ title: '', content }),
  skills: ({ name, displayName, description, instructions }: Skill) => ({
    title: displayName ?? name,
    content: [description, instructions].filter(Boolean).join('\n\n'),
  }),
  messages: ({ content }: Message) => ({ title: '', content }),
};

export function sourceOf(
  collection: EmbeddedCollection,
  record: { readonly id: string; readonly revision?: number },
): TextSource {
  const read = SOURCES[collection] as (record: object) => Omit<TextSource, 'id' | 'state'>; // the record is of the collection
  return { id: record.id, state: `${FORMAT}.${record.revision ?? 1}`, ...read(record) };
}

/** A passage as a model gets to read it. */
export interface TextPart {
  readonly text: string;
  /** Title and headings alone, by which it is found too. Empty where it has none. */
  readonly headings: string;
}

/** A part for each passage. What tools answered is found by words alone. */
export function partsOf(collection: EmbeddedCollection, record: object, { title, content }: TextSource): TextPart[] {
  if (collection === 'messages' && (record as Message).role === 'tool') return [];
  return passagesOf(content).map(({ path, text }) => {
    const all = [...new Set([title, ...path])].filter((heading) => heading !== '').join(' > ');
    const headings = all.slice(0, LONGEST_HEADINGS).toWellFormed();
    return { text: (headings === '' ? text : `${headings}\n${text}`).toWellFormed(), headings };
  });
}
