import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as others } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { ToolError } from '../../tools/registry/errors.ts';
import { type Excess, INPUT_BOUNDS, JsonGauge } from '../../tools/registry/json-gauge.ts';

/** Largest request body in bytes, as sent and after decompression. */
const LARGEST_BODY = 4 * 1024 * 1024;

/** What a body may be. */
export interface BodyKind {
  readonly largest: number;
  /** The body is JSON, and reading stops as soon as it exceeds `INPUT_BOUNDS`. */
  readonly isJson: boolean;
  /** @throws ToolError (unsupported_media_type) */
  requireType(contentType: string | undefined): void;
}
const JSON_BODY: BodyKind = { largest: LARGEST_BODY, isJson: true, requireType: requireJson };
/** Of a request that signs in, which anybody can send. */
export const CREDENTIAL: BodyKind = { largest: 64 * 1024, isJson: true, requireType: requireJson };
const FORM: BodyKind = { largest: 16 * 1024, isJson: false, requireType: requireForm };

const EMPTY = Buffer.alloc(0);
const BROKEN = 'The connection ended before the body did.';
/** How long an oversized body is taken in, so that its sender reads the answer instead of a broken connection. */
const LINGER_MS = 1000;
/** Of a decompressed body; other requests are served between two of them. */
const GAUGED_AT_ONCE = 64 * 1024;
const decoders: Readonly<Record<string, (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/** JSON that nests deeper than anything may. */
export class TooDeep extends ToolError {
  constructor() {
    super('invalid_input', `The body is nested more than ${INPUT_BOUNDS.levels} levels deep; send it flatter.`);
  }
}

/** The whole body, decompressed; an empty one has no type. @throws ToolError (too_large, unsupported_media_type, invalid_input) */
export async function readBody(request: IncomingMessage, kind: BodyKind = JSON_BODY): Promise<Buffer> {
  const { headers } = request;
  const isChunked = headers['transfer-encoding'] !== undefined;
  if (!isChunked && (headers['content-length'] ?? '0') === '0') return EMPTY;
  if (!isChunked) kind.requireType(headers['content-type']);
  if (Number(headers['content-length'] ?? 0) > kind.largest) throw tooLarge(request, kind);
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  const isPlain = encoding === 'identity';
  const body = await collect(request, kind, kind.isJson && isPlain ? new JsonGauge(INPUT_BOUNDS) : undefined);
  if (body.length === 0) return EMPTY;
  if (isPlain) return body;
  const unfolded = await decompress(body, encoding, kind);
  if (kind.isJson) await requireModest(unfolded);
  return unfolded;
}

async function requireModest(body: Buffer): Promise<void> {
  const gauge = new JsonGauge(INPUT_BOUNDS);
  for (let at = 0; at < body.length; at += GAUGED_AT_ONCE) {
    const excess = gauge.feed(body.subarray(at, at + GAUGED_AT_ONCE));
    if (excess) throw excessive(excess);
    await others();
  }
}

function excessive(excess: Excess): ToolError {
  if (excess === 'levels') return new TooDeep();
  const most = `${INPUT_BOUNDS.members} members (names of objects and items of arrays)`;
  return new ToolError('too_large', `The body has more than ${most}; send less at a time.`);
}

/** Members of a form, each given once. @throws ToolError (too_large, unsupported_media_type, invalid_input) */
export async function readForm(request: IncomingMessage): Promise<ReadonlyMap<string, string>> {
  const { headers } = request;
  if (headers['content-encoding'] !== undefined) throw new ToolError('unsupported_media_type', NO_FORM);
  if (Number(headers['content-length'] ?? 0) > FORM.largest) throw tooLarge(request, FORM);
  const members = [...new URLSearchParams(decodeText(await collect(request, FORM)))];
  const form = new Map(members);
  if (form.size < members.length) throw new ToolError('invalid_input', 'The form has a field twice.');
  return form;
}

/** The text of a body. @throws ToolError if it is not UTF-8 */
export function decodeText(body: Buffer): string {
  if (!isUtf8(body)) throw new ToolError('invalid_input', 'The body is not UTF-8; send it in UTF-8.');
  return body.toString('utf8');
}

function requireJson(contentType: string | undefined): void {
  if (contentType === 'application/json') return; // as nearly all clients write it
  const [type = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (type === 'application/json' && (!charset || /^charset="?utf-?8"?$/.test(charset))) return;
  throw new ToolError('unsupported_media_type', 'Send the body with Content-Type: application/json (UTF-8).');
}

function requireForm(contentType = ''): void {
  const [type = ''] = contentType.toLowerCase().split(';');
  if (type.trim() !== 'application/x-www-form-urlencoded') throw new ToolError('unsupported_media_type', NO_FORM);
}

const NO_FORM = 'Send the form as browsers do.';

/** A body with too much in it is dropped as soon as that shows. */
function collect(request: IncomingMessage, kind: BodyKind, gauge?: JsonGauge): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      try {
        // What comes in chunks shows only now that there is a body.
        if (chunks.length === 1) kind.requireType(request.headers['content-type']);
        if (size > kind.largest) throw tooLarge(request, kind);
        const excess = gauge?.feed(chunk);
        if (excess) throw dropped(request, excessive(excess));
      } catch (refusal) {
        request.removeAllListeners('data');
        reject(refusal);
      }
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', () => reject(new ToolError('invalid_input', BROKEN)));
    request.on('close', () => {
      if (!request.complete) reject(new ToolError('invalid_input', BROKEN));
    });
  });
}

function tooLarge(request: IncomingMessage, { largest }: BodyKind): ToolError {
  return dropped(request, new ToolError('too_large', `The body is larger than ${largest} bytes; send less at a time.`));
}

const unread = new WeakSet<IncomingMessage>();

/** Whether the rest of its body was dropped: its connection is best closed with the answer. */
export function isUnread(request: IncomingMessage): boolean {
  return unread.has(request);
}

/** The rest of the body is dropped; where it does not end soon the connection is not used again. */
function dropped(request: IncomingMessage, refusal: ToolError): ToolError {
  unread.add(request);
  request.resume();
  setTimeout(() => request.destroy(), LINGER_MS).unref();
  return refusal;
}

async function decompress(body: Buffer, encoding: string, { largest }: BodyKind): Promise<Buffer> {
  const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  if (!decode) {
    const known = Object.keys(decoders).join(', ');
    throw new ToolError('unsupported_media_type', `Content-Encoding can be ${known} or absent.`);
  }
  try {
    return await decode(body, { maxOutputLength: largest });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new ToolError('too_large', `The decompressed body is larger than ${largest} bytes.`);
    }
    throw new ToolError('invalid_input', `The body is not in the Content-Encoding ${encoding}.`);
  }
}
