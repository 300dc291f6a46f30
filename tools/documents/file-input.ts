import { z } from 'zod';
import { type DocumentSource, documentFields } from '../../resources/document.ts';
import { nameText } from '../../resources/fields.ts';
import { address } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { type Fail, invalidMember } from '../core/errors.ts';
import type { Context } from '../core/registry/context.ts';
import type { Staged } from '../core/registry/tool.ts';
import { fetchFile } from './files/fetch-file.ts';
import { FILE_TYPES } from './files/file-type.ts';
import { hashOf } from './files/hash.ts';
import { readFile } from './files/read-file.ts';
import { discardFile, type PutFile, putFile } from './originals.ts';

/** Bytes that fit a message of MCP as base64. */
export const MOST_INLINE_BYTES = 3_000_000;
const HEX = /^[0-9a-f]{64}$/;

export const fileInput = z.strictObject({
  name: nameText(500).describe('With extension.'),
  data: z
    .base64('Not base64; encode the bytes with the alphabet A-Z a-z 0-9 + / and padding.')
    .max((MOST_INLINE_BYTES / 3) * 4, `Is more than ${MOST_INLINE_BYTES} bytes; send the file over REST instead.`)
    .optional()
    .describe('Base64.'),
  url: address(z.url({ protocol: /^https?$/, error: 'Write an http or https address.' }).max(2000))
    .optional()
    .describe('Public link instead of `data`.'),
  sha256: z.string().length(64).regex(HEX, 'Write 64 hex digits in lower case.').optional(),
});
type FileInput = z.output<typeof fileInput>;

/** What a document is made of, where a file was given. */
interface DocumentFile extends Staged {
  readonly made?: { readonly title: string; readonly content: string; readonly source: DocumentSource };
  readonly file?: PutFile | undefined;
}

type Caller = Pick<
  Context<Pick<Readers, 'documentFiles'>, never>,
  'store' | 'principal' | 'attached' | 'server' | 'signal'
> & {
  readonly fail: Fail<'too_large' | 'unsupported_media_type'>;
};

interface GivenFile {
  readonly id?: string | undefined;
  readonly file?: FileInput | undefined;
  readonly content?: string | undefined;
}

/** Converts the file and keeps it, if there is one. @throws ToolError that says what to do with the file */
export async function stageFile({ id, file, content }: GivenFile, caller: Caller): Promise<DocumentFile> {
  const discard = async () => {};
  if (!file) return { discard };
  if (content !== undefined) throw invalidMember('content', 'Give either `content` or `file`, and not both.');
  const bytes = await bytesOf(file, caller);
  const sha256 = await hashOf(bytes);
  if (file.sha256 !== undefined && file.sha256 !== sha256) {
    throw invalidMember('file.sha256', `The bytes that arrived have the hash ${sha256}; send the file again.`);
  }
  const { type, markdown, title } = await readFile(bytes, file.name, caller);
  const source = { name: file.name, mimeType: FILE_TYPES[type], sizeBytes: bytes.length, sha256 };
  const place = { store: caller.store, files: caller.server.files };
  const put = await putFile(bytes, { sha256, documentId: id }, place);
  return {
    made: { title: titleOf(title, file.name), content: markdown, source },
    file: put,
    discard: async () => put && discardFile(put, place),
  };
}

async function bytesOf({ data, url }: FileInput, caller: Caller): Promise<Buffer> {
  const [attached] = caller.attached?.bytes ?? [];
  if ([data, url, attached].filter((given) => given !== undefined).length > 1) {
    throw invalidMember('file.data', 'Give either `data`, or `url`, or the file as the body of a REST request.');
  }
  if (url !== undefined) return fetchFile(url, caller);
  if (data !== undefined) return Buffer.from(data, 'base64');
  if (attached) return attached;
  throw invalidMember('file.data', 'Give the bytes in `data`, a `url`, or the file as the body of a REST request.');
}

const LONGEST_TITLE = 200;

/** The title that the file gives itself, or else its name without folders and extension. */
function titleOf(title: string | undefined, name: string): string {
  const own = documentFields.title.safeParse(title?.replace(/\s+/g, ' ').trim().slice(0, LONGEST_TITLE)).data;
  const base = name.split(/[\\/]/).at(-1) ?? name;
  const bare = base.replace(/(?<=.)\.[^.]{1,10}$/, '').slice(0, LONGEST_TITLE);
  return own ?? documentFields.title.safeParse(bare).data ?? 'Untitled';
}
