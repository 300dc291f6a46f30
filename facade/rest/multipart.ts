import { ToolError } from '../../tools/core/errors.ts';

/** A field of a form: `bytes` is a part of the body, not a copy. */
interface FormPart {
  readonly field: string;
  readonly filename: string | undefined;
  readonly bytes: Buffer;
}

const HEADERS_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const MOST_PARTS = 100;
/** In bytes, of the headers of a part. */
const LONGEST_HEADERS = 16 * 1024;

/** The parts of a `multipart/form-data` body (RFC 7578). Undefined if it is not one. Files are not copied, as the libraries' parsers do. @throws ToolError (too_large) */
export function partsOf(body: Buffer, contentType: string): FormPart[] | undefined {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]{1,70})"|([^;\s]{1,70}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) return undefined;
  const first = Buffer.from(`--${boundary}`);
  const next = Buffer.from(`\r\n--${boundary}`);
  let at = body.indexOf(first);
  if (at < 0) return undefined;
  at += first.length;
  const parts: FormPart[] = [];
  while (parts.length <= MOST_PARTS) {
    if (body.toString('latin1', at, at + 2) === '--') return parts;
    if (!body.subarray(at, at + 2).equals(LINE_END)) return undefined;
    const headersEnd = body.indexOf(HEADERS_END, at);
    if (headersEnd < 0) return undefined;
    if (headersEnd - at > LONGEST_HEADERS) throw new ToolError('too_large', TOO_LONG);
    const from = headersEnd + HEADERS_END.length;
    // A part without content ends with the line that ends its headers.
    const end = body.indexOf(next, headersEnd + LINE_END.length);
    if (end < 0) return undefined;
    const named = namesIn(body.toString('utf8', at, headersEnd));
    if (!named) return undefined;
    parts.push({ ...named, bytes: body.subarray(from, Math.max(from, end)) });
    at = end + next.length;
  }
  throw new ToolError('too_large', `The form has more than ${MOST_PARTS} fields and files; send less at a time.`);
}

const TOO_LONG = `A part of the form has headers of more than ${LONGEST_HEADERS} bytes; shorten the name of the file.`;

/** Browsers and curl write names in UTF-8, and escape quotes. */
function namesIn(headers: string): Pick<FormPart, 'field' | 'filename'> | undefined {
  const disposition = /^content-disposition:[ \t]*form-data[ \t]*;(.*)$/im.exec(headers)?.[1];
  const field = parameterOf(disposition, 'name');
  return field === undefined ? undefined : { field, filename: parameterOf(disposition, 'filename') };
}

/** A parameter of `Content-Disposition`, with the form of RFC 8187 (`filename*`) before the plain one. */
export function parameterOf(disposition: string | undefined, name: string): string | undefined {
  const text = `;${disposition ?? ''}`;
  const encoded = new RegExp(`;\\s*${name}\\*=utf-8''([^;\\s]+)`, 'i').exec(text)?.[1];
  const [, quoted, bare] = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, 'i').exec(text) ?? [];
  if (encoded !== undefined) {
    try {
      return decodeURIComponent(encoded);
    } catch {
      // the plain form is left
    }
  }
  return quoted?.replace(/\\(["\\])/g, '$1').replace(/%22/g, '"') ?? bare;
}
