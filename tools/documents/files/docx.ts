import { unzipSync, zipSync } from 'fflate';
import mammoth from 'mammoth';
import { markdownOf } from './html.ts';
import { type ConversionLimits, type Converted, requireFitting, UnreadableFile } from './limits.ts';

const BROKEN = 'The DOCX is incomplete or damaged; open it in a word processor, save it again and send that.';
/** The parts that hold text; pictures and fonts are not unpacked. */
const TEXT_PART = /\.(?:xml|rels)$/i;

export async function fromDocx(bytes: Buffer, limits: ConversionLimits): Promise<Converted> {
  // Mammoth unpacks whatever is declared, so it gets an archive of the checked parts alone.
  const parts = unpack(bytes, limits);
  const buffer = Buffer.from(zipSync(parts, { level: 0 }));
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
  const { value } = await mammoth.convertToHtml({ buffer }, { convertImage, externalFileAccess: false }).catch(() => {
    throw new UnreadableFile(BROKEN);
  });
  const markdown = markdownOf(value);
  if (markdown === '') throw new UnreadableFile('The DOCX has no text; if it holds pictures of pages, run OCR first.');
  requireFitting(markdown, limits);
  return { markdown };
}

/** Unpacks no more bytes of a part than it declares, and no more declared ones than allowed. */
function unpack(bytes: Buffer, { unpackedBytes }: ConversionLimits): Record<string, Uint8Array> {
  let declared = 0;
  const parts = unpacked(bytes, ({ name, originalSize }) => {
    if (!TEXT_PART.test(name)) return false;
    declared += originalSize;
    if (declared <= unpackedBytes) return true;
    const message = `The text of the DOCX unpacks to more than ${unpackedBytes} bytes; split the document.`;
    throw new UnreadableFile(message, 'too_large');
  });
  for (const part of Object.values(parts)) requireNoEntities(part);
  return parts;
}

function unpacked(bytes: Buffer, filter: (part: { name: string; originalSize: number }) => boolean) {
  try {
    return unzipSync(bytes, { filter });
  } catch (thrown) {
    if (thrown instanceof UnreadableFile) throw thrown;
    throw new UnreadableFile(BROKEN);
  }
}

/** Word processors never declare a document type. It could name files of this machine, or grow without end. */
function requireNoEntities(part: Uint8Array): void {
  if (!/<!(?:DOCTYPE|ENTITY)/i.test(Buffer.from(part).toString('latin1'))) return;
  throw new UnreadableFile(
    'The DOCX declares XML entities, which no word processor does; save it again and send that.',
  );
}
