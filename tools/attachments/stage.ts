import type { AttachmentInput, AttachmentType } from '../../resources/attachment.ts';
import type { ModelInput } from '../../resources/model-provider.ts';
import { newId } from '../../store/ids.ts';
import type { Readers } from '../../store/port.ts';
import { invalidMember, ToolError } from '../core/errors.ts';
import { tokensOf } from '../core/models/tokens.ts';
import { errorOf } from '../core/registry/call.ts';
import type { CallingContext } from '../core/registry/context.ts';
import type { Staged } from '../core/registry/tool.ts';
import { type AttachedText, attachedText, hashOf, MOST_FILE_BYTES } from '../documents/attached-text.ts';
import { attachedType, fitsClaim, isImage } from './attached-type.ts';
import { discardUnkept, type StagedFile } from './thread-files.ts';

const MIB = 1024 * 1024;
export const MOST_IMAGE_BYTES = 10 * MIB;
/** Of all files of a message together. */
export const MOST_ATTACHED_BYTES = 40 * MIB;

export interface StagedFiles extends Staged {
  readonly files: readonly StagedFile[];
}

type Caller = Pick<
  CallingContext<Readers, 'too_large' | 'unsupported_media_type'>,
  'store' | 'principal' | 'server' | 'call' | 'attached' | 'fail'
>;

export interface Reader {
  /** What the model that is asked first reads. */
  readonly inputs: readonly ModelInput[];
  /** So many of the files that came with the call are not wanted, the first ones. */
  readonly unread: number;
  /** @throws ToolError where it reads none of this type */
  admit(type: AttachmentType, name: string, path: string): void;
}

export interface GivenFile {
  readonly item: AttachmentInput;
  /** Where it stands in the input. */
  readonly path: string;
}

/** Checks the files of a message and puts their bytes into the store. @throws ToolError that names the file and what to do */
export async function stageAttachments(
  given: readonly GivenFile[],
  caller: Caller,
  reader: Reader,
): Promise<StagedFiles> {
  const files: StagedFile[] = [];
  const { files: stored } = caller.server;
  const discard = () =>
    discardUnkept(
      files.map(({ attachment: { id } }) => id),
      caller,
    );
  const sent = (caller.attached?.bytes ?? []).slice(reader.unread);
  try {
    let total = 0;
    for (const { item, path } of given) {
      const { bytes, name, claimed } = await read(item, { path, sent, caller });
      total += bytes.length;
      if (total > MOST_ATTACHED_BYTES)
        throw tooLarge(path, `All files of a message have ${MOST_ATTACHED_BYTES / MIB} MB at most`);
      const sha256 = await hashOf(bytes);
      if (item.sha256 !== undefined && item.sha256 !== sha256) {
        throw invalidMember(`${path}.sha256`, `The bytes that arrived have the hash ${sha256}; send the file again.`);
      }
      const mediaType = typeOf(bytes, { name, claimed, path });
      reader.admit(mediaType, name, path);
      const text = isImage(mediaType) ? {} : await textOf(bytes, { mediaType, name, path, caller, reader });
      const id = newId('fil');
      await stored.put(id, bytes);
      const tokens = tokensIn(mediaType, bytes.length, text);
      files.push({ ...text, attachment: { id, name, mediaType, sizeBytes: bytes.length, sha256, tokens } });
    }
    if (sent.length > 0) throw invalidMember('attachments', 'Give an entry for each file of the form.');
    return { files, discard };
  } catch (thrown) {
    await discard();
    throw thrown;
  } finally {
    caller.attached?.release();
  }
}

interface Item {
  readonly bytes: Buffer;
  readonly name: string;
  readonly claimed?: string | undefined;
}

type Reading = { readonly path: string; readonly sent: Buffer[]; readonly caller: Caller };

async function read(item: AttachmentInput, { path, sent, caller }: Reading): Promise<Item> {
  const { artifactId, data, name, mediaType: claimed } = item;
  if (artifactId !== undefined) {
    if (data !== undefined) throw invalidMember(path, 'Give either `artifactId` or `data`, not both.');
    const artifact = await artifactOf(artifactId, caller);
    const bytes =
      artifact.data === undefined ? Buffer.from(artifact.content ?? '') : Buffer.from(artifact.data, 'base64');
    return { bytes, name: name ?? artifact.name, claimed };
  }
  const bytes = data === undefined ? sent.shift() : Buffer.from(data, 'base64');
  if (!bytes) throw invalidMember(path, 'Give `artifactId`, or `name` and `data`.');
  if (name === undefined) throw invalidMember(`${path}.name`, 'Give the name of the file, with its extension.');
  return { bytes, name, claimed };
}

interface Artifact {
  readonly name: string;
  readonly content?: string;
  readonly data?: string;
}

/** Read by the rights of the caller, also of one to whom this artifact alone is fixed. */
async function artifactOf(id: string, { call, principal, server }: Caller): Promise<Artifact> {
  const tool = server.catalog.get('get_artifact')?.tool;
  const fixed = tool && principal.tools?.fixed?.(tool);
  const answer = await call('get_artifact', fixed?.id === id ? {} : { id });
  if (answer.ok) return answer.output as unknown as Artifact; // as the tool declares it
  const { error, notMade, retryAfterSeconds } = answer;
  const { code, message, detail } = errorOf(error);
  // Nothing was done, but only what may succeed later is to be tried again.
  throw new ToolError(code, message, { ...detail, ...(notMade && { notMade, retryAfterSeconds }) });
}

const KNOWN = 'images (PNG, JPEG, WebP, GIF), PDF, text, CSV and Markdown';

function typeOf(
  bytes: Buffer,
  { name, claimed, path }: { readonly name: string; readonly claimed: string | undefined; readonly path: string },
): AttachmentType {
  const type = attachedType(bytes, name);
  if (!type) {
    const what = bytes.length === 0 ? 'is empty' : 'is none of these';
    throw refused('unsupported_media_type', path, `${name} ${what}; messages take ${KNOWN}.`);
  }
  const extension = EXTENSIONS[/\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''];
  if (!fitsClaim(claimed, type)) {
    const message = `${name} is said to be ${shown(claimed)} and is ${type}; correct \`mediaType\` or leave it out.`;
    throw refused('unsupported_media_type', path, message);
  }
  if (extension !== undefined && extension !== type) {
    throw refused('unsupported_media_type', path, `${name} contains something else (${type}); name it by what it is.`);
  }
  const most = isImage(type) ? MOST_IMAGE_BYTES : MOST_FILE_BYTES;
  if (bytes.length > most) {
    throw tooLarge(
      path,
      `${name} is larger than ${most / MIB} MB, the most of ${isImage(type) ? 'an image' : 'a file'}`,
    );
  }
  return type;
}

function shown(claimed = ''): string {
  return JSON.stringify(claimed.slice(0, 100));
}

/** Names that promise bytes of this type. */
const EXTENSIONS: Readonly<Record<string, AttachmentType>> = {
  ...{ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', webp: 'image/webp', gif: 'image/gif' },
  pdf: 'application/pdf',
};

function refused(code: 'too_large' | 'unsupported_media_type', path: string, message: string): ToolError {
  return new ToolError(code, message, { issues: [{ path, message }] });
}

function tooLarge(path: string, message: string): ToolError {
  return refused('too_large', path, `${message}; send less.`);
}

interface Extracting {
  readonly mediaType: AttachmentType;
  readonly name: string;
  readonly path: string;
  readonly caller: Caller;
  readonly reader: Reader;
}

/** A PDF without text that can be read goes as it is, to a model that reads PDF. */
async function textOf(
  bytes: Buffer,
  { mediaType, name, path, caller, reader }: Extracting,
): Promise<Partial<AttachedText>> {
  const isNative = mediaType === 'application/pdf' && reader.inputs.includes('pdf');
  const found = await attachedText(bytes, mediaType, caller).catch((thrown: unknown) => {
    if (!(thrown instanceof ToolError)) throw thrown;
    if (isNative && thrown.code === 'too_large') return { text: '' };
    const message = `${name}: ${thrown.message}`;
    throw new ToolError(thrown.code, message, { ...thrown.detail, issues: [{ path, message }] }, thrown.cause);
  });
  if (found.text.trim() !== '') return found;
  if (isNative) return {};
  const message = `${name} has no text that can be read; give a model that reads PDF (list_models shows \`inputs\`), or recognise its text first (OCR).`;
  throw refused('unsupported_media_type', path, message);
}

const IMAGE_TOKENS = 1600;
const MOST_PDF_TOKENS = 50_000;
const BYTES_PER_PDF_TOKEN = 100;

/** Vendors count an image up to about so many tokens, and of a PDF the text and a picture of each page. */
function tokensIn(type: AttachmentType, bytes: number, { text = '', cut }: Partial<AttachedText>): number {
  if (isImage(type)) return IMAGE_TOKENS;
  if (type !== 'application/pdf') return tokensOf(text);
  const known = cut === undefined ? 2 * tokensOf(text) : MOST_PDF_TOKENS;
  const guessed = text === '' ? bytes / BYTES_PER_PDF_TOKEN : known;
  return Math.round(Math.min(MOST_PDF_TOKENS, Math.max(IMAGE_TOKENS, guessed)));
}
