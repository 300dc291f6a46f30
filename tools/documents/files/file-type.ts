import { UnreadableFile } from './limits.ts';

export const FILE_TYPES = {
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  html: 'text/html',
  markdown: 'text/markdown',
  csv: 'text/csv',
  text: 'text/plain',
} as const;
export type FileType = keyof typeof FILE_TYPES;

const KNOWN = 'PDF, DOCX, HTML, Markdown, text and CSV';
const BY_NAME: Readonly<Record<string, FileType>> = {
  htm: 'html',
  html: 'html',
  xhtml: 'html',
  md: 'markdown',
  markdown: 'markdown',
  mdx: 'markdown',
  csv: 'csv',
  tsv: 'csv',
};
/** What else begins like this, with what to do about it. */
const REFUSED: readonly (readonly [beginning: string, advice: string])[] = [
  ['\xd0\xcf\x11\xe0', 'It is an Office file of an old format or with a password; save it as DOCX without a password'],
  ['{\\rtf', 'It is RTF; save it as DOCX or PDF'],
  ['\x89PNG', 'It is a picture; recognise its text first (OCR) and send that'],
  ['\xff\xd8\xff', 'It is a picture; recognise its text first (OCR) and send that'],
  ['GIF8', 'It is a picture; recognise its text first (OCR) and send that'],
  ['\x1f\x8b', 'It is compressed; unpack it and send the files in it'],
];
const HTML = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]/i;
const BEGINNING = 4096;

/** The type of the file by what it contains; the name decides only which kind of text it is. @throws UnreadableFile */
export function fileTypeOf(bytes: Buffer, name: string): FileType {
  const extension = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  const type = typeByContent(bytes, extension);
  if ((extension === 'pdf' || extension === 'docx') && type !== extension) {
    throw new UnreadableFile(
      `The file is named .${extension} and contains something else (${type}); name it by what it is, or send the original.`,
      'unsupported_media_type',
    );
  }
  return type;
}

function typeByContent(bytes: Buffer, extension: string): FileType {
  if (bytes.length === 0) throw new UnreadableFile('The file is empty; send one with content.');
  const beginning = bytes.subarray(0, BEGINNING).toString('latin1');
  if (beginning.slice(0, 1024).includes('%PDF-')) return 'pdf';
  if (beginning.startsWith('PK\x03\x04')) return extension === 'docx' ? 'docx' : zipType(bytes);
  const refused = REFUSED.find(([start]) => beginning.startsWith(start));
  if (refused) throw unsupported(refused[1]);
  if (!isText(bytes)) throw unsupported('It is not text');
  if (HTML.test(beginning)) return 'html';
  return BY_NAME[extension] ?? 'text';
}

/** Names of parts stand uncompressed in an archive. */
function zipType(bytes: Buffer): FileType {
  if (bytes.includes('word/document.xml')) return 'docx';
  if (bytes.includes('xl/workbook.xml')) throw unsupported('It is a spreadsheet; save each sheet as CSV');
  if (bytes.includes('ppt/presentation.xml')) throw unsupported('It is a presentation; save it as PDF');
  throw unsupported('It is an archive; unpack it and send the files in it');
}

/** UTF-16 has a byte order mark; other text has no zero bytes. */
function isText(bytes: Buffer): boolean {
  const mark = bytes.toString('latin1', 0, 2);
  return mark === '\xfe\xff' || mark === '\xff\xfe' || !bytes.includes(0);
}

function unsupported(what: string): UnreadableFile {
  return new UnreadableFile(`${what}. Documents are made of ${KNOWN}.`, 'unsupported_media_type');
}
