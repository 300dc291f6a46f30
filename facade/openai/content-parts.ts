import { isObject } from '../../resources/json.ts';
import { invalidMember } from '../../tools/core/errors.ts';

/** A file of a message, whose bytes go beside the input of the tool. */
export interface SentFile {
  readonly name: string;
  readonly mediaType?: string;
  readonly bytes: Buffer;
}

export interface Content {
  readonly text: string;
  readonly files: readonly SentFile[];
}

/** The text and the files of a message, by OpenAI's published form of its parts. @throws ToolError (invalid_input) */
export function contentOf(content: unknown, path: string): Content {
  if (content === undefined || content === null) return { text: '', files: [] };
  if (typeof content === 'string') return { text: content, files: [] };
  if (!Array.isArray(content)) throw invalidMember(path, `${path}: must be text, or parts.`);
  const parts = content.map((part: unknown, at) => partOf(part, `${path}[${at}]`, at + 1));
  const texts = parts.flatMap((part) => (typeof part === 'string' ? [part] : []));
  return { text: texts.join('\n'), files: parts.flatMap((part) => (typeof part === 'string' ? [] : [part])) };
}

function partOf(part: unknown, path: string, number: number): string | SentFile {
  const { type, text, refusal, image_url: image, file } = isObject(part) ? part : {};
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'refusal' && typeof refusal === 'string') return refusal;
  if (type === 'image_url') return imageOf(isObject(image) ? image.url : image, `${path}.image_url`, number);
  if (type === 'file') return fileOf(isObject(file) ? file : {}, `${path}.file`);
  if (typeof type === 'string' && type !== 'text') {
    const shown = JSON.stringify(type.slice(0, 100));
    throw invalidMember(path, `${path}: agents read text, images and files, not ${shown}; leave it out.`);
  }
  throw invalidMember(path, `${path}: must be {"type": "text", "text": "..."}.`);
}

const DATA = /^data:([a-z]+\/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*;base64,/i;

function imageOf(url: unknown, path: string, number: number): SentFile {
  const data = dataOf(url);
  if (!data) {
    throw invalidMember(
      `${path}.url`,
      `${path}.url: give the image itself (data:image/png;base64,...), as addresses are not fetched.`,
    );
  }
  const [, kind = 'png'] = /^image\/(\w+)/.exec(data.mediaType ?? '') ?? [];
  return { ...data, name: `image-${number}.${kind === 'jpeg' ? 'jpg' : kind}` };
}

function fileOf({ filename, file_data: given }: Readonly<Record<string, unknown>>, path: string): SentFile {
  const data =
    dataOf(given) ?? (typeof given === 'string' && given !== '' ? { bytes: Buffer.from(given, 'base64') } : undefined);
  if (!data)
    throw invalidMember(
      `${path}.file_data`,
      `${path}.file_data: give the file itself, in base64; there are no uploaded files.`,
    );
  const isPdf = data.bytes.subarray(0, 5).equals(PDF);
  return {
    ...data,
    name: typeof filename === 'string' && filename !== '' ? filename : isPdf ? 'file.pdf' : 'file.txt',
  };
}

const PDF = Buffer.from('%PDF-');

function dataOf(url: unknown): Omit<SentFile, 'name'> | undefined {
  if (typeof url !== 'string') return undefined;
  // The bytes may be many, so only the beginning is matched.
  const [beginning, mediaType] = DATA.exec(url.slice(0, 300)) ?? [];
  if (beginning === undefined) return undefined;
  const bytes = Buffer.from(url.slice(beginning.length), 'base64');
  return { bytes, ...(mediaType !== undefined && { mediaType }) };
}
