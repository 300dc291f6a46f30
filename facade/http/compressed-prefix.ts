import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { batchedEnd } from './batched-end.ts';
import { acceptedTypes } from './target.ts';

/** The most that a stored block of deflate holds (RFC 1951, section 3.2.4). */
const LARGEST_BLOCK = 0xffff;
/** Magic number, method deflate, no flags, no time, no hints, made on an unknown system (RFC 1952, section 2.3). */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

/** A common beginning, compressed once; each end follows in stored blocks of the same gzip member. A list of all tools takes 0.4 ms instead of 11. */
export class CompressedPrefix {
  readonly plain: Buffer;
  #compressed: { readonly start: Buffer; readonly crc: number } | undefined;

  constructor(plain: Buffer) {
    this.plain = plain;
  }

  /** Ends the exchange with the beginning and this end, compressed if the client accepts that. */
  send(response: ServerResponse, contentType: string, end = ''): void {
    const headers = [
      ...['Content-Type', contentType, 'Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'],
      ...['Vary', varyOf(response)],
    ];
    const rest = Buffer.from(end);
    if (acceptsGzip(response.req)) {
      const { start, crc } = this.#compress();
      const ending = Buffer.concat([
        ...storedBlocks(rest),
        trailer(continued(crc, rest), this.plain.length + rest.length),
      ]);
      finish(response, [...headers, 'Content-Encoding', 'gzip'], start, ending);
    } else finish(response, headers, this.plain, rest);
  }

  #compress() {
    if (!this.#compressed) {
      const deflated = deflateRawSync(this.plain, { finishFlush: constants.Z_FULL_FLUSH });
      this.#compressed = { start: Buffer.concat([GZIP_HEAD, deflated]), crc: crc32(this.plain) };
    }
    return this.#compressed;
  }
}

function finish(response: ServerResponse, headers: string[], before: Buffer, end: Buffer): void {
  response.writeHead(200, [...headers, 'Content-Length', String(before.length + end.length)]);
  batchedEnd(response, end, before);
}

function acceptsGzip({ headers }: IncomingMessage): boolean {
  const accepted = headers['accept-encoding'];
  return accepted !== undefined && acceptedTypes(String(accepted)).includes('gzip');
}

function varyOf(response: ServerResponse): string {
  const others = response.getHeader('Vary');
  return others === undefined ? 'Accept-Encoding' : `${others}, Accept-Encoding`;
}

/** The bytes uncompressed, as deflate blocks. The last block is marked as final. */
function storedBlocks(bytes: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  let from = 0;
  do {
    const part = bytes.subarray(from, from + LARGEST_BLOCK);
    from += LARGEST_BLOCK;
    const head = Buffer.alloc(5);
    head.writeUInt8(from >= bytes.length ? 1 : 0, 0);
    head.writeUInt16LE(part.length, 1);
    head.writeUInt16LE(part.length ^ LARGEST_BLOCK, 3);
    blocks.push(head, part);
  } while (from < bytes.length);
  return blocks;
}

/** Without bytes, zlib would begin a new checksum. */
function continued(crc: number, bytes: Buffer): number {
  return bytes.length === 0 ? crc : crc32(bytes, crc);
}

function trailer(crc: number, length: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(crc, 0);
  bytes.writeUInt32LE(length, 4);
  return bytes;
}
