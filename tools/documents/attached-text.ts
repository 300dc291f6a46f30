import { isUtf8 } from 'node:buffer';
import type { AttachmentType } from '../../resources/attachment.ts';
import { MOST_TEXT } from '../../resources/document.ts';
import type { Principal } from '../core/access/principal.ts';
import type { Fail } from '../core/errors.ts';
import { hashOf } from './files/hash.ts';
import { CONVERSION_LIMITS, MOST_FILE_BYTES } from './files/limits.ts';
import { readFile } from './files/read-file.ts';
import { decodeFile } from './files/text.ts';

export { hashOf, MOST_FILE_BYTES };

/** The beginning of a file's text, with what is said of the rest. */
export interface AttachedText {
  readonly text: string;
  readonly cut?: string;
}

interface Reading {
  readonly principal: Principal;
  readonly fail: Fail<'too_large' | 'unsupported_media_type'>;
}

const LIMITS = { ...CONVERSION_LIMITS, characters: MOST_TEXT, pages: 500, cuts: true };
/** More bytes than the longest text takes. */
const MOST_READ = 4 * MOST_TEXT;

/** The text of a PDF is empty where it has only pictures of pages. @throws ToolError that says what to do with the file */
export async function attachedText(bytes: Buffer, type: AttachmentType, reading: Reading): Promise<AttachedText> {
  if (type !== 'application/pdf') return beginningOf(bytes);
  const { markdown, pages } = await readFile(bytes, 'attached.pdf', reading, LIMITS);
  if (!pages) return { text: markdown };
  return {
    text: markdown,
    cut: `This is the text of ${pages.shown} of its ${pages.all} pages, or of a part of these.`,
  };
}

function beginningOf(bytes: Buffer): AttachedText {
  const text = decodeFile(bytes.length > MOST_READ ? bytes.subarray(0, endOfCharacter(bytes, MOST_READ)) : bytes)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no store keeps these
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufeff]/g, '')
    .toWellFormed();
  if (text.length <= MOST_TEXT && bytes.length <= MOST_READ) return { text };
  const shown = text.slice(0, MOST_TEXT).toWellFormed();
  return { text: shown, cut: `This is its beginning, of ${bytes.length.toLocaleString('en')} bytes in all.` };
}

/** Text in UTF-8 is not cut inside of a character, else it would be taken for text of another encoding. */
function endOfCharacter(bytes: Buffer, place: number): number {
  let end = place;
  for (; end > place - 4 && !isUtf8(bytes.subarray(0, end)); end -= 1);
  return end === place - 4 ? place : end;
}
