import { z } from 'zod';
import { MOST_ATTACHED_BYTES } from '../../tools/attachments/stage.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { hashOf } from '../../tools/documents/files/hash.ts';
import { MOST_FILE_BYTES } from '../../tools/documents/files/limits.ts';
import { type BodyKind, decodeText, FILES_SILENCE_MS, readBody } from '../http/body.ts';
import { HeldFiles } from '../http/held-files.ts';
import type { RequestContext } from '../http/request-context.ts';
import { parameterOf, partsOf } from './multipart.ts';
import { type QueryReader, queryReader } from './query.ts';

/** What stands around a file in a form. */
const AROUND_BYTES = 64 * 1024;
const FILE: BodyKind = { largest: MOST_FILE_BYTES, silenceMs: FILES_SILENCE_MS, requireType: () => {} };
const FORM: BodyKind = { ...FILE, largest: MOST_FILE_BYTES + AROUND_BYTES };
const FILES: BodyKind = { ...FILE, largest: MOST_ATTACHED_BYTES + 16 * AROUND_BYTES };
const FIELDS = ['title', 'projectId', 'tags', 'expectedRevision'];
const CHAT_FIELDS = ['message', 'threadId', 'agentId', 'model', 'fallbackModels', 'maxTokens', 'stream'];

/** Whether the tool takes several files, in a form alone. */
export function takesMany({ shape }: z.ZodObject): boolean {
  return 'attachments' in shape;
}

/** The members of a tool's input that go with a file. */
export function fieldsBesideFile(input: z.ZodObject): z.ZodObject {
  const fields = takesMany(input) ? CHAT_FIELDS : FIELDS;
  return z.object(Object.fromEntries(Object.entries(input.shape).filter(([name]) => fields.includes(name))));
}

/** Reads them, and what names the file, from a query or the fields of a form. */
export function fieldReader(input: z.ZodObject): QueryReader {
  const fields = fieldsBesideFile(input);
  return queryReader(takesMany(input) ? fields : fields.extend({ name: z.string(), sha256: z.string() }));
}

/** Whether the body is something else than JSON. */
export function isFileBody({ headers }: RequestContext['request']): boolean {
  const isEmpty = headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';');
  return !isEmpty && type.trim() !== 'application/json';
}

/**
 * A file as the body of a request: a form with the field `file` (`curl -F file=@…`), or the bytes themselves (`curl --data-binary @…`) with
 * their name in the query. A message takes several, in a form alone.
 */
export class FileBody extends HeldFiles {
  readonly #context: RequestContext;
  readonly #readFields: QueryReader;
  readonly #takesMany: boolean;

  constructor(context: RequestContext, readFields: QueryReader, many: boolean) {
    super();
    this.#context = context;
    this.#readFields = readFields;
    this.#takesMany = many;
  }

  /** The input of the tool, without the bytes. @throws ToolError (too_large, invalid_input) */
  async read(): Promise<object> {
    const { principal, parameters, request, url } = this.#context;
    await this.takeTurn(principal);
    if (this.#takesMany) return this.#readMany(url.searchParams);
    const query = this.#readFields(url.searchParams);
    const type = request.headers['content-type'] ?? '';
    const isForm = /^multipart\/form-data\b/i.test(type);
    const body = await readBody(this.#context, isForm ? FORM : FILE);
    const form = isForm ? oneFile(formOf(body, type)) : undefined;
    const given = form ? this.#readFields(form.texts) : {};
    requireOnce(Object.keys(query), given, 'in the query and in the form');
    requireOnce(Object.keys(parameters), { ...query, ...given }, 'in the path and beside the file');
    requireOnce(['file'], { ...query, ...given }, 'as a file and beside it');
    const {
      name = form?.name ?? parameterOf(request.headers['content-disposition'], 'filename'),
      sha256,
      ...fields
    } = {
      ...query,
      ...given,
    };
    if (name === undefined) throw new ToolError('invalid_input', NAMELESS);
    const bytes = form?.bytes ?? body;
    this.bytes = [bytes];
    // The hash stands for the bytes where repeats are compared.
    return { ...fields, ...parameters, file: { name, sha256: sha256 ?? (await hashOf(bytes)) } };
  }

  /** The fields of a message, and its files in the order of the form. */
  async #readMany(query: URLSearchParams): Promise<object> {
    if (query.size > 0) throw new ToolError('invalid_input', NO_QUERY);
    const { headers } = this.#context.request;
    const type = headers['content-type'] ?? '';
    if (!/^multipart\/form-data\b/i.test(type)) throw new ToolError('unsupported_media_type', MANY);
    const { files, texts } = formOf(await readBody(this.#context, FILES), type);
    const given = this.#readFields(texts);
    requireOnce(['attachments'], given, 'by the files of the form and as a field');
    if (files.length === 0)
      throw new ToolError('invalid_input', 'The form has no file; send JSON, or files in `file`.');
    this.bytes = files.map(({ bytes }) => bytes);
    const attachments = [];
    for (const { bytes, name } of files) attachments.push({ name, sha256: await hashOf(bytes) });
    return { ...given, attachments };
  }
}

const MANY = 'Send JSON, or a form (multipart/form-data) with the message in `message` and its files in `file`.';

const NO_QUERY = 'This operation takes no query parameters; put the fields into the form.';

const NAMELESS = 'The file has no name; give it in the query, such as ?name=handbook.pdf, or send a form (-F file=@…).';

function requireOnce(names: readonly string[], given: object, where: string): void {
  const twice = names.find((name) => Object.hasOwn(given, name));
  if (twice !== undefined) throw new ToolError('invalid_input', `${twice} is given ${where}; give it once.`);
}

interface FormFile {
  readonly bytes: Buffer;
  readonly name: string | undefined;
}

interface Form {
  readonly files: readonly FormFile[];
  readonly texts: URLSearchParams;
}

function formOf(body: Buffer, type: string): Form {
  const parts = partsOf(body, type);
  if (!parts) throw new ToolError('invalid_input', 'The body is not a form (multipart/form-data) with its boundary.');
  const files = parts.filter(({ field }) => field === 'file');
  if (files.some(({ filename }) => filename === undefined)) throw new ToolError('invalid_input', ONE_FILE);
  const texts = new URLSearchParams();
  for (const { field, bytes } of parts) if (field !== 'file') texts.append(field, decodeText(bytes));
  return { files: files.map(({ bytes, filename }) => ({ bytes, name: filename || undefined })), texts };
}

const ONE_FILE = 'The form must have one file, in the field `file`; send one at a time.';

function oneFile({ files, texts }: Form): FormFile & Pick<Form, 'texts'> {
  const [file, ...others] = files;
  if (!file || others.length > 0) throw new ToolError('invalid_input', ONE_FILE);
  return { ...file, texts };
}
