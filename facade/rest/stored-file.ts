import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Attachment, imageTypes } from '../../resources/attachment.ts';
import type { DocumentSource } from '../../resources/document.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { challengeOf } from '../http/authenticate.ts';
import { requireKnownParameters } from '../http/endpoints.ts';
import type { Endpoint } from '../http/request-context.ts';
import { sendError, sendErrorBody } from '../http/respond.ts';
import { documentFileRoute, type Route, threadFileRoute } from '../routes.ts';

interface KnownFile {
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
}

/** What `get_document` answers of a document with a file. */
interface FoundDocument {
  readonly source?: DocumentSource;
  readonly file?: { readonly id: string };
}

interface FileOptions {
  readonly route: Route;
  readonly input: object;
  readonly notKept: string;
  fileIn(output: object): KnownFile | undefined;
}

/** Answers the file that a document was made of, as a call of `get_document`: so it has the rights of the document. */
export function documentFileEndpoint(registry: Registry): Endpoint {
  return fileEndpoint(registry, {
    route: documentFileRoute,
    input: { file: true, limit: 1 },
    notKept: 'No file of this document is kept: it was written as text, or made before files were kept.',
    fileIn(output) {
      const { file, source } = output as FoundDocument; // as the tool declares it
      return file && source && { ...source, id: file.id };
    },
  });
}

/** Answers a file of a message, as a call of `get_thread`: so it has the rights of the thread. */
export function threadFileEndpoint(registry: Registry): Endpoint {
  return fileEndpoint(registry, {
    route: threadFileRoute,
    input: {},
    notKept: 'This file is not kept any more.',
    fileIn(output) {
      const { file } = output as { readonly file?: Omit<Attachment, 'tokens'> }; // as the tool declares it
      return file && { ...file, mimeType: file.mediaType };
    },
  });
}

function fileEndpoint(registry: Registry, { route, input, notKept, fileIn }: FileOptions): Endpoint {
  const { method, path, tool } = route;
  return {
    method,
    path,
    async serve(context) {
      const { url, request, response, principal, requestId, parameters } = context;
      requireKnownParameters(url, []);
      const answer = await registry.call({
        principal,
        tool,
        input: { ...parameters, ...input },
        door: 'rest',
        requestId,
        client: request.headers['user-agent'],
        checkCredential: () => context.checkCredential(),
      });
      if (!answer.ok) {
        const challenge = principal.type === 'anonymous' ? {} : challengeOf(request);
        return sendErrorBody(response, answer.error, { ...answer, ...challenge });
      }
      const file = fileIn(answer.output);
      const pieces = file && registry.server.files.read(file.id)[Symbol.asyncIterator]();
      const first = await pieces?.next();
      if (!file || !pieces || !first || first.done) return sendError(response, new ToolError('not_found', notKept));
      response.writeHead(200, headersOf(file));
      await pipeline(Readable.from(whole(first.value, pieces, file.sizeBytes)), response).catch(() => {});
    },
  };
}

/** Images are shown, by these types alone, whose bytes were looked at. A browser saves anything else, whatever it is, and runs nothing of it. */
function headersOf({ name, mimeType, sizeBytes }: KnownFile): Record<string, string | number> {
  const isShown = (imageTypes as readonly string[]).includes(mimeType);
  return {
    'Content-Type': isShown ? mimeType : 'application/octet-stream',
    'Content-Length': sizeBytes,
    'Content-Disposition': dispositionOf(name, isShown ? 'inline' : 'attachment'),
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  };
}

/** The name without its folders, for every client in ASCII, and for newer ones as it is (RFC 6266). */
function dispositionOf(name: string, how: 'inline' | 'attachment'): string {
  const bare = (name.split(/[\\/]/).at(-1) ?? '').toWellFormed().replace(/\p{Cc}/gu, '') || 'file';
  const ascii = bare.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(bare).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `${how}; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** Fails where there is less than was said, so that the client sees that the answer is cut. */
async function* whole(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
  length: number,
): AsyncGenerator<Uint8Array, void> {
  let sent = first.length;
  try {
    yield first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) {
      sent += next.value.length;
      yield next.value;
    }
    if (sent !== length) throw new Error(`the file has ${sent} bytes instead of ${length}`);
  } finally {
    await rest.return?.();
  }
}
