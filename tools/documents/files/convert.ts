import { type FileType, fileTypeOf } from './file-type.ts';
import { type ConversionLimits, type Converted, type FileProblem, UnreadableFile } from './limits.ts';
import { fromCsv, fromMarkdown, fromText } from './text.ts';

export interface ConvertedFile extends Converted {
  readonly type: FileType;
}

type Converter = (bytes: Buffer, limits: ConversionLimits) => Converted | Promise<Converted>;

/** The libraries are large, so each is loaded with the first file that requires it. */
const converters: Readonly<Record<FileType, () => Promise<Converter>>> = {
  pdf: async () => (await import('./pdf.ts')).fromPdf,
  docx: async () => (await import('./docx.ts')).fromDocx,
  html: async () => (await import('./html.ts')).fromHtml,
  markdown: async () => fromMarkdown,
  csv: async () => fromCsv,
  text: async () => fromText,
};

/** The text of a file as Markdown, or why there is none. Run in a process of its own, except for short plain text. */
export async function convertFile(
  given: Uint8Array,
  name: string,
  limits: ConversionLimits,
): Promise<ConvertedFile | { readonly problem: FileProblem }> {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  try {
    const type = fileTypeOf(bytes, name);
    const convert = await converters[type]();
    const { markdown, title, pages } = await convert(bytes, limits);
    return { type, markdown: cleaned(markdown), title: title && cleaned(title), pages };
  } catch (thrown) {
    if (thrown instanceof UnreadableFile) return { problem: { code: thrown.code, message: thrown.message } };
    throw thrown;
  }
}

/** Without control characters and halves of characters, which no store keeps. */
function cleaned(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufeff]/g, '').toWellFormed();
}
