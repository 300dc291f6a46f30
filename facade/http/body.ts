import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { ToolError } from '../../tools/core/errors.ts';
import {
  type ExceededLimit,
  INPUT_LIMITS,
  inputLimitsOf,
  JsonLimitCounter,
  type JsonLimits,
} from '../../tools/core/registry/json-limits.ts';
import { FairQueue } from './fair-queue.ts';
import type { RequestContext } from './request-context.ts';

/** Largest request body in bytes, as sent and after decompression. */
export const LARGEST_BODY = 4 * 1024 * 1024;

export interface BodyKind {
  readonly largest: number;
  /** Of JSON: reading stops as soon as it exceeds this. Asked only for a body that may do so. */
  readonly bounds?: () => JsonLimits;
  /** Of a body that others queue behind: how long its sender may be silent. Time in which the server itself pauses does not count. */
  readonly silenceMs?: number;
  /** @throws ToolError (unsupported_media_type) */
  requireType(contentType: string | undefined): void;
}
/** The input of one tool, or of any of several tools. */
export function jsonBody(takesBulk: () => boolean): BodyKind {
  const bounds = () => inputLimitsOf(takesBulk() ? { bulk: true } : {});
  return { largest: LARGEST_BODY, bounds, requireType: requireJson };
}
/** Bounds for requests that sign in, which anybody can send. */
export const CREDENTIAL: BodyKind = { largest: 64 * 1024, bounds: () => INPUT_LIMITS, requireType: requireJson };
const FORM: BodyKind = { largest: 16 * 1024, requireType: requireForm };

/** `silenceMs` of files. */
export const FILES_SILENCE_MS = 30_000;
const SILENT = 'Nothing more of the body came, and others of yours wait; send it again.';
const EMPTY = Buffer.alloc(0);
const BROKEN = 'The connection ended before the body did.';
/** How long the rest of an oversized body is still read, so that its sender gets the answer instead of a broken connection. */
const LINGER_MS = 1000;
/** A body of more bytes or members is heavy: it is read and served in turns. */
export const HEAVY_BYTES = 64 * 1024;
export const HEAVY_MEMBERS = 1000;
/** As how much work a refused body counts, so that who sends one after another waits longer than all others. */
const REFUSAL_MS = 5;
/** No body of fewer bytes for each has more members. */
const BYTES_OF_A_MEMBER = 2;
const decoders: Readonly<Record<string, (options: { chunkSize: number }) => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The refusal of JSON that is nested too deeply. */
export class TooDeep extends ToolError {
  constructor() {
    super('invalid_input', `The body is nested more than ${INPUT_LIMITS.levels} levels deep; send it flatter.`);
  }
}

type Sender = Pick<RequestContext, 'request' | 'principal'>;

const turns = new FairQueue();
const heavy = new WeakSet<IncomingMessage>();

/** Where the body of the request was heavy: waits for the turn of its sender. */
export function heavyTurn(sender: Sender): Promise<void> | undefined {
  return heavy.has(sender.request) ? turnOf(sender) : undefined;
}

function turnOf({ principal }: Sender, leastMs?: number): Promise<void> {
  return turns.next(`${principal.type} ${principal.id}`, leastMs);
}

/** The whole body, decompressed. An empty body has no type. @throws ToolError (too_large, unsupported_media_type, invalid_input) */
export async function readBody(sender: Sender, kind: BodyKind): Promise<Buffer> {
  const { headers } = sender.request;
  const isChunked = headers['transfer-encoding'] !== undefined;
  if (!isChunked && (headers['content-length'] ?? '0') === '0') return EMPTY;
  if (!isChunked) kind.requireType(headers['content-type']);
  const take: Take = (leastMs) => turnOf(sender, leastMs);
  try {
    return await readWhole(sender.request, kind, take);
  } catch (refusal) {
    if (refusal instanceof ToolError && (refusal.code === 'too_large' || refusal instanceof TooDeep)) {
      await take(REFUSAL_MS);
    }
    throw refusal;
  }
}

async function readWhole(request: IncomingMessage, kind: BodyKind, take: Take): Promise<Buffer> {
  const { 'content-length': length, 'content-encoding': coding = 'identity' } = request.headers;
  if (Number(length ?? 0) > kind.largest) throw tooLarge(request, kind);
  const encoding = coding.toLowerCase();
  const isPlain = encoding === 'identity';
  const gauge = gaugeOf(kind, isPlain && length !== undefined ? Number(length) : kind.largest);
  const own = isPlain ? gauge : undefined;
  const body = request.complete ? takeWhole(request, kind, own) : await collect(request, kind, { take, gauge: own });
  const unfolded = isPlain || body.length === 0 ? body : await decompress(body, encoding, { kind, gauge, take });
  if (unfolded.length <= HEAVY_BYTES && (gauge?.members ?? 0) <= HEAVY_MEMBERS) return unfolded;
  heavy.add(request);
  await take();
  return unfolded;
}

function gaugeOf({ bounds }: BodyKind, bytes: number): JsonLimitCounter | undefined {
  if (!bounds) return undefined;
  return new JsonLimitCounter(bytes > INPUT_LIMITS.members * BYTES_OF_A_MEMBER ? bounds() : INPUT_LIMITS);
}

function excessive(excess: ExceededLimit, { bounds }: JsonLimitCounter): ToolError {
  if (excess === 'levels') return new TooDeep();
  const most = `${bounds.members} members (names of objects and items of arrays)`;
  return new ToolError('too_large', `The body has more than ${most}; send less at a time.`);
}

/** Members of a form, each given once. @throws ToolError (too_large, unsupported_media_type, invalid_input) */
export async function readForm(request: IncomingMessage): Promise<ReadonlyMap<string, string>> {
  const { headers } = request;
  if (headers['content-encoding'] !== undefined) throw new ToolError('unsupported_media_type', NO_FORM);
  if (Number(headers['content-length'] ?? 0) > FORM.largest) throw tooLarge(request, FORM);
  const members = [...new URLSearchParams(decodeText(await collect(request, FORM, { take: async () => {} })))];
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
  if (contentType === 'application/json') return; // the form that nearly all clients write
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

type Take = (leastMs?: number) => Promise<void>;

interface Collecting {
  readonly take: Take;
  readonly gauge?: JsonLimitCounter | undefined;
}

/** Stops reading as soon as the body has too many members or levels. */
function collect(request: IncomingMessage, kind: BodyKind, { take, gauge }: Collecting): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // A sender who went while the body waited for its turn is not told of any more.
    if (request.destroyed) return reject(new ToolError('invalid_input', BROKEN));
    const chunks: Buffer[] = [];
    let size = 0;
    const silence = silenceOf(request, kind, reject);
    request.on('data', (chunk: Buffer) => {
      silence?.refresh();
      size += chunk.length;
      chunks.push(chunk);
      try {
        requireFit(request, kind, size);
        measure(request, chunk, gauge);
      } catch (refusal) {
        request.removeAllListeners('data');
        request.on('data', () => pause(request, take));
        reject(refusal);
      }
      if (size > HEAVY_BYTES) pause(request, take);
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', () => reject(new ToolError('invalid_input', BROKEN)));
    request.on('close', () => {
      clearTimeout(silence);
      if (!request.complete) reject(new ToolError('invalid_input', BROKEN));
    });
  });
}

function silenceOf(request: IncomingMessage, { silenceMs }: BodyKind, end: (why: ToolError) => void) {
  if (silenceMs === undefined) return undefined;
  const timer = setTimeout(() => {
    if (request.isPaused()) timer.refresh();
    else if (!request.complete) end(dropped(request, new ToolError('invalid_input', SILENT)));
  }, silenceMs);
  return timer.unref();
}

/** What `collect` does, for a body that is here already: short ones come with their head. */
function takeWhole(request: IncomingMessage, kind: BodyKind, gauge: JsonLimitCounter | undefined): Buffer {
  const body: Buffer = request.read() ?? EMPTY;
  if (body.length > 0) requireFit(request, kind, body.length);
  measure(request, body, gauge);
  return body;
}

/** A body in chunks shows only when it comes that it is not empty, and how long it is. */
function requireFit(request: IncomingMessage, kind: BodyKind, size: number): void {
  kind.requireType(request.headers['content-type']);
  if (size > kind.largest) throw tooLarge(request, kind);
}

function measure(request: IncomingMessage, chunk: Buffer, gauge: JsonLimitCounter | undefined): void {
  const excess = gauge?.feed(chunk);
  if (gauge && excess) throw dropped(request, excessive(excess, gauge));
}

function pause(request: IncomingMessage, take: Take): void {
  request.pause();
  void take().then(
    () => request.resume(),
    (error) => request.destroy(error),
  );
}

function tooLarge(request: IncomingMessage, { largest }: BodyKind): ToolError {
  return dropped(request, new ToolError('too_large', `The body is larger than ${largest} bytes; send less at a time.`));
}

const unread = new WeakSet<IncomingMessage>();

/** Whether the rest of the body was dropped. The connection should then be closed with the answer. */
export function isUnread(request: IncomingMessage): boolean {
  return unread.has(request);
}

/** Drops the rest of the body. If that does not end soon, the connection is not used again. */
function dropped(request: IncomingMessage, refusal: ToolError): ToolError {
  unread.add(request);
  request.resume();
  setTimeout(() => request.destroy(), LINGER_MS).unref();
  return refusal;
}

interface Decompressing extends Collecting {
  readonly kind: BodyKind;
}

async function decompress(body: Buffer, encoding: string, how: Decompressing): Promise<Buffer> {
  const decoder = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  if (!decoder) {
    const known = Object.keys(decoders).join(', ');
    throw new ToolError('unsupported_media_type', `Content-Encoding can be ${known} or absent.`);
  }
  try {
    return await unfold(decoder({ chunkSize: HEAVY_BYTES }).end(body), how);
  } catch (thrown) {
    if (thrown instanceof ToolError) throw thrown;
    throw new ToolError('invalid_input', `The body is not in the Content-Encoding ${encoding}.`);
  }
}

async function unfold(decoded: Transform, { kind: { largest }, gauge, take }: Decompressing): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of decoded) {
    size += chunk.length;
    chunks.push(chunk);
    if (size > largest) throw new ToolError('too_large', `The decompressed body is larger than ${largest} bytes.`);
    const excess = gauge?.feed(chunk);
    if (gauge && excess) throw excessive(excess, gauge);
    await take();
  }
  return Buffer.concat(chunks);
}
