import type { FilePart, ModelMessage, TextPart, UserContent } from 'ai';
import type { Attachment } from '../../../resources/attachment.ts';
import type { ModelInput } from '../../../resources/model-provider.ts';
import { isImage } from '../../attachments/attached-type.ts';
import { fence } from '../../core/models/prompt-sections.ts';
import { tokensOf } from '../../core/models/tokens.ts';
import type { AttachedText } from '../../documents/attached-text.ts';

/** A file of a message, as it is read for a turn. */
interface PromptFile extends Partial<AttachedText> {
  /** Undefined where it is not there any more. */
  bytes(): Promise<Buffer | undefined>;
}

/** Undefined where it is not there any more. */
export type ReadPromptFile = (id: string) => Promise<PromptFile | undefined>;

/** Of the texts of all files of a message together, in characters. */
const MOST_TEXT_OF_MESSAGE = 120_000;
const SCHEME = 'attachment:';

type Known = Pick<Attachment, 'id' | 'name' | 'mediaType' | 'tokens'>;

/** What is said, behind its files: these are the same from turn to turn, and stand for their bytes until a turn is taken. */
export function withFiles(text: string, files: readonly Known[], gone: ReadonlySet<string> = new Set()): UserContent {
  if (files.length === 0) return text;
  const longest = Math.floor(MOST_TEXT_OF_MESSAGE / files.filter(({ mediaType }) => !isImage(mediaType)).length);
  const parts = files.map((file) =>
    gone.has(file.id) ? noteOf(file, 'not shown any more, to save space') : partOf(file, longest),
  );
  return text === '' ? parts : [...parts, { type: 'text', text }];
}

function partOf({ id, name, mediaType, tokens }: Known, longest: number): FilePart {
  const data = new URL(`${SCHEME}${id}`);
  return {
    type: 'file',
    data,
    mediaType,
    filename: name,
    providerOptions: { own: { tokens, longest: Math.min(longest, 1e6) } },
  };
}

function noteOf({ id, name, mediaType }: Pick<Known, 'id' | 'name' | 'mediaType'>, why: string): TextPart {
  const what = isImage(mediaType) ? 'image' : 'file';
  return { type: 'text', text: fence({ kind: 'file', id, title: name, text: `(This ${what} is ${why}.)` }) };
}

/** An estimate, with what the files take. */
export function tokensOfMessages(messages: readonly ModelMessage[]): number {
  let tokens = tokensOf(JSON.stringify(messages));
  for (const { role, content } of messages) {
    if (role !== 'user' || typeof content === 'string') continue;
    for (const part of content) if (isOwn(part)) tokens += Number(part.providerOptions?.own?.tokens ?? 0);
  }
  return tokens;
}

function isOwn(part: { readonly type: string; readonly data?: unknown }): part is FilePart & { readonly data: URL } {
  return part.type === 'file' && part.data instanceof URL && part.data.protocol === SCHEME;
}

interface Filling {
  readonly inputs: readonly ModelInput[];
  readonly read: ReadPromptFile;
}

/** The messages with the files in the form that the model reads: their bytes, else their text. */
export async function filled(messages: readonly ModelMessage[], filling: Filling): Promise<ModelMessage[]> {
  const all: ModelMessage[] = [];
  for (const message of messages) {
    if (message.role !== 'user' || typeof message.content === 'string') {
      all.push(message);
      continue;
    }
    const content: Exclude<UserContent, string> = [];
    for (const part of message.content) content.push(isOwn(part) ? await fill(part, filling) : part);
    all.push({ ...message, content });
  }
  return all;
}

async function fill(part: FilePart & { readonly data: URL }, { inputs, read }: Filling): Promise<FilePart | TextPart> {
  const { mediaType, filename: name = '' } = part;
  const known = { id: part.data.pathname, name, mediaType: mediaType as Known['mediaType'] }; // made by `partOf`
  const file = await read(known.id);
  const as = howGiven(mediaType, inputs);
  if (!file) return noteOf(known, 'not kept any more');
  if (as === 'file') {
    const data = await file.bytes();
    return data ? { type: 'file', data, mediaType, filename: name } : noteOf(known, 'not kept any more');
  }
  if (as === 'left out') return noteOf(known, 'not shown, as this model reads no images');
  const { text = '', cut } = file;
  if (text === '') return noteOf(known, 'not shown, as it has no text that can be read');
  const shown = text.slice(0, Number(part.providerOptions?.own?.longest)).toWellFormed();
  const more = cut ?? (shown.length < text.length ? 'This is the beginning of its text.' : undefined);
  const lines = more === undefined ? shown : `${shown}\n\n(${more} The rest was left out.)`;
  return { type: 'text', text: fence({ kind: 'file', id: known.id, title: name, text: lines }) };
}

export function howGiven(mediaType: string, inputs: readonly ModelInput[]): 'file' | 'text' | 'left out' {
  if (isImage(mediaType)) return inputs.includes('image') ? 'file' : 'left out';
  return mediaType === 'application/pdf' && inputs.includes('pdf') ? 'file' : 'text';
}
