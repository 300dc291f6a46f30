import { deflateSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';

/** A PDF with a page for each text, its lines divided by `\n`. `trailer` adds members to the trailer. */
export function pdfOf(pages: readonly string[], { trailer = '', pack = false } = {}): Buffer {
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ');
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count ${pages.length} /Kids [${kids}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((text, index) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + 2 * index} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      streamOf(text === '' ? '' : drawn(text), pack),
    ]),
  ];
  let out = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const at = out.length;
    out += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const xref = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`;
  const end = `trailer\n<< /Size ${size} /Root 1 0 R ${trailer}>>\nstartxref\n${out.length}\n%%EOF\n`;
  return Buffer.from(`${out}${xref}${end}`, 'latin1');
}

function drawn(text: string): string {
  const lines = text.split('\n').map((line) => `(${line}) Tj T*`);
  return `BT /F1 12 Tf 72 720 Td 14 TL ${lines.join(' ')} ET`;
}

function streamOf(content: string, pack: boolean): string {
  const bytes = pack ? deflateSync(content, { level: 9 }).toString('latin1') : content;
  return `<< /Length ${bytes.length} ${pack ? '/Filter /FlateDecode ' : ''}>>\nstream\n${bytes}\nendstream`;
}

/** A PDF that opens with a password alone. */
export function encryptedPdf(): Buffer {
  const key = `<${'01'.repeat(32)}>`;
  const trailer = `/Encrypt << /Filter /Standard /V 1 /R 2 /O ${key} /U ${key} /P -4 >> /ID [<01><01>] `;
  return pdfOf(['secret'], { trailer });
}

/** A PDF whose one page unpacks to so many bytes. */
export function pdfBomb(bytes: number): Buffer {
  return pdfOf(['x'.repeat(bytes)], { pack: true });
}

const PACKAGE = 'application/vnd.openxmlformats-';
const NAMESPACE = 'http://schemas.openxmlformats.org';
const TYPES = `<?xml version="1.0"?><Types xmlns="${NAMESPACE}/package/2006/content-types"><Default Extension="rels" ContentType="${PACKAGE}package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="${PACKAGE}officedocument.wordprocessingml.document.main+xml"/></Types>`;
const RELATIONS = `<?xml version="1.0"?><Relationships xmlns="${NAMESPACE}/package/2006/relationships"><Relationship Id="r1" Type="${NAMESPACE}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`;

interface DocxOptions {
  /** Stands before the document. */
  readonly prolog?: string;
  /** Further parts by name. */
  readonly parts?: Readonly<Record<string, Uint8Array>>;
}

/** A DOCX with this body; `heading`, `paragraph` and `table` make parts of one. */
export function docxOf(body: string, { prolog = '', parts = {} }: DocxOptions = {}): Buffer {
  const document = `<?xml version="1.0"?>${prolog}<w:document xmlns:w="${NAMESPACE}/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`;
  const all = {
    '[Content_Types].xml': strToU8(TYPES),
    '_rels/.rels': strToU8(RELATIONS),
    'word/document.xml': strToU8(document),
  };
  return Buffer.from(zipSync({ ...all, ...parts }, { level: 9 }));
}

export const paragraph = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
export const heading = (text: string, level = 1) =>
  `<w:p><w:pPr><w:pStyle w:val="Heading${level}"/></w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;
export const table = (rows: readonly (readonly string[])[]) =>
  `<w:tbl>${rows.map((row) => `<w:tr>${row.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join('')}</w:tr>`).join('')}</w:tbl>`;

export function spreadsheet(): Buffer {
  return Buffer.from(zipSync({ 'xl/workbook.xml': strToU8('<workbook/>') }));
}
