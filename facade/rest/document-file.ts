import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { DocumentSource } from '../../resources/document.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { challengeOf } from '../http/authenticate.ts';
import { requireKnownParameters } from '../http/endpoints.ts';
import type { Endpoint } from '../http/request-context.ts';
import { sendError, sendErrorBody } from '../http/respond.ts';
import { documentFileRoute } from '../routes.ts';

/** What `get_document` answers of a document with a file. */
interface Found {
  readonly source?: DocumentSource;
  readonly file?: { readonly id: string };
}

/** Answers the file that a document was made of, as a call of `get_document`: so it has the rights of the document. */
export function documentFileEndpoint(registry: Registry): Endpoint {
  const { method, path, tool } = documentFileRoute;
  return {
    method,
    path,
    async serve(context) {
      const { url, request, response, principal, requestId, parameters } = context;
      requireKnownParameters(url, []);
      const answer = await registry.call({
        principal,
        tool,
        input: { ...parameters, file: true, limit: 1 },
        door: 'rest',
        requestId,
        client: request.headers['user-agent'],
        renewed: () => context.renewed(),
      });
      if (!answer.ok) {
        const challenge = principal.type === 'anonymous' ? {} : challengeOf(request);
        return sendErrorBody(response, answer.error, { ...answer, ...challenge });
      }
      const { file, source } = answer.output as Found; // as the tool declares it
      const pieces = file && registry.server.files.read(file.id)[Symbol.asyncIterator]();
      const first = await pieces?.next();
      if (!source || !pieces || !first || first.done) return sendError(response, new ToolError('not_found', NOT_KEPT));
      response.writeHead(200, headersOf(source));
      await pipeline(Readable.from(whole(first.value, pieces, source.sizeBytes)), response).catch(() => {});
    },
  };
}

const NOT_KEPT = 'No file of this document is kept: it was written as text, or made before files were kept.';

/** A browser saves it, whatever it is, and runs nothing of it. */
function headersOf({ name, sizeBytes }: DocumentSource): Record<string, string | number> {
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Length': sizeBytes,
    'Content-Disposition': dispositionOf(name),
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  };
}

/** The name without its folders, for every client in ASCII, and for newer ones as it is (RFC 6266). */
function dispositionOf(name: string): string {
  const bare = (name.split(/[\\/]/).at(-1) ?? '').toWellFormed().replace(/\p{Cc}/gu, '') || 'file';
  const ascii = bare.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(bare).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
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
