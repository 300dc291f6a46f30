import { type AttachmentType, imageTypes } from '../../resources/attachment.ts';

const BY_NAME: Readonly<Record<string, AttachmentType>> = {
  csv: 'text/csv',
  tsv: 'text/csv',
  md: 'text/markdown',
  markdown: 'text/markdown',
};

/** The type by what the bytes are; the name decides only which kind of text it is. Undefined for what is none of them. */
export function attachedType(bytes: Buffer, name: string): AttachmentType | undefined {
  const beginning = bytes.toString('latin1', 0, 16);
  if (beginning.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (beginning.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(beginning)) return 'image/gif';
  if (/^RIFF[\s\S]{4}WEBP/.test(beginning)) return 'image/webp';
  if (beginning.startsWith('%PDF-')) return 'application/pdf';
  if (bytes.length === 0 || !isText(bytes)) return undefined;
  return BY_NAME[/\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? 'text/plain';
}

export function isImage(type: string): boolean {
  return (imageTypes as readonly string[]).includes(type);
}

/** UTF-16 has a byte order mark; other text has no zero bytes, and no beginning of an archive or program. */
function isText(bytes: Buffer): boolean {
  const mark = bytes.toString('latin1', 0, 2);
  if (mark === '\xfe\xff' || mark === '\xff\xfe') return true;
  const beginning = bytes.toString('latin1', 0, 8);
  return !bytes.includes(0) && !OTHERS.some((start) => beginning.startsWith(start));
}

const OTHERS = ['PK\x03\x04', '\x1f\x8b', '\x7fELF', 'MZ', '\xd0\xcf\x11\xe0', '{\\rtf'];

const CLAIMS_IMAGE = /^image\//i;

/** Whether what the sender says of the type fits what it is: texts have many types. */
export function fitsClaim(claimed: string | undefined, type: AttachmentType): boolean {
  if (claimed === undefined) return true;
  const said = claimed.split(';')[0]?.trim().toLowerCase() ?? '';
  if (said === type || said === '' || said === 'application/octet-stream') return true;
  if (said === 'image/jpg') return type === 'image/jpeg';
  return type.startsWith('text/') && !CLAIMS_IMAGE.test(said) && said !== 'application/pdf';
}
