import { getDocumentProxy } from 'unpdf';
import { type ConversionLimits, type Converted, requireFitting, UnreadableFile } from './limits.ts';

const INCOMPLETE = 'The PDF is incomplete or damaged; download or export it again and send that.';
/** How far from its end a whole file says where it ends. */
const END_WITHIN = 2048;

interface TextItem {
  readonly str: string;
  readonly hasEOL: boolean;
  /** The last two are the place on the page. */
  readonly transform: readonly number[];
  readonly height: number;
}

/** The text of each page under a heading `## Page 3`. */
export async function fromPdf(bytes: Buffer, limits: ConversionLimits): Promise<Converted> {
  if (!bytes.subarray(-END_WITHIN).includes('%%EOF')) throw new UnreadableFile(INCOMPLETE);
  const pdf = await getDocumentProxy(new Uint8Array(bytes), {
    disableFontFace: true,
    useSystemFonts: false,
    enableXfa: false,
    verbosity: 0,
  }).catch((cause: unknown) => {
    throw new UnreadableFile(cause instanceof Error && cause.name === 'PasswordException' ? ENCRYPTED : INCOMPLETE);
  });
  const { numPages } = pdf;
  if (numPages > limits.pages && !limits.cuts) {
    const message = `The PDF has ${numPages} pages, more than ${limits.pages}; split it and send the parts.`;
    throw new UnreadableFile(message, 'too_large');
  }
  let markdown = '';
  for (let number = 1; number <= numPages; number += 1) {
    const page = await pdf.getPage(number).catch(() => {
      throw new UnreadableFile(INCOMPLETE);
    });
    const { items } = await page.getTextContent();
    page.cleanup();
    // Marked content, which has no text, is only there where it is asked for.
    const text = textOf(items as readonly TextItem[]);
    if (text !== '') markdown += `${markdown && '\n\n'}## Page ${number}\n\n${text}`;
    if (limits.cuts && (markdown.length > limits.characters || number === limits.pages)) {
      return { markdown: markdown.slice(0, limits.characters), pages: { shown: number, all: numPages } };
    }
    requireFitting(markdown, limits, `split the PDF (of ${numPages} pages) before page ${number} and send the parts`);
  }
  if (markdown === '' && !limits.cuts) throw new UnreadableFile(SCANNED);
  return { markdown };
}

const ENCRYPTED = 'The PDF is protected by a password; remove the password and send it again.';
const SCANNED = 'The PDF has no text, only pictures of pages; recognise its text first (OCR) and send that.';

/** Lines of the page; an empty one where the distance to the next is larger than between lines. */
function textOf(items: readonly TextItem[]): string {
  const lines: string[] = [];
  let line = '';
  let lastY: number | undefined;
  for (const { str, hasEOL, transform, height } of items) {
    const y = transform[5] ?? 0;
    if (line === '' && lastY !== undefined && height > 0 && Math.abs(lastY - y) > height * 1.8) lines.push('');
    line += str;
    if (height > 0) lastY = y;
    if (!hasEOL) continue;
    lines.push(line.trim());
    line = '';
  }
  lines.push(line.trim());
  return lines
    .join('\n')
    .replace(/(\p{Ll})-\n(\p{Ll})/gu, '$1$2') // words that were divided at the end of a line
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
