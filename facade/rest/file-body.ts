import { z } from 'zod';
import { Mutex } from '../../store/mutex.ts';
import { ToolError } from '../../tools/core/errors.ts';
import { hashOf } from '../../tools/documents/files/hash.ts';
import { MOST_FILE_BYTES } from '../../tools/documents/files/limits.ts';
import { type BodyKind, decodeText, readBody } from '../http/body.ts';
import type { RequestContext } from '../http/request-context.ts';
import { parameterOf, partsOf } from './multipart.ts';
import { type QueryReader, queryReader } from './query.ts';

/** What stands around a file in a form. */
const AROUND_BYTES = 64 * 1024;
const FILE: BodyKind = { largest: MOST_FILE_BYTES, requireType: () => {} };
const FORM: BodyKind = { largest: MOST_FILE_BYTES + AROUND_BYTES, requireType: () => {} };
const FIELDS = ['title', 'projectId', 'tags', 'expectedRevision'];

/** The members of a tool's input that go with a file. */
export function fieldsBesideFile(input: z.ZodObject): z.ZodObject {
  return z.object(Object.fromEntries(Object.entries(input.shape).filter(([name]) => FIELDS.includes(name))));
}

/** Reads them, and what names the file, from a query or the fields of a form. */
export function fieldReader(input: z.ZodObject): QueryReader {
  return queryReader(fieldsBesideFile(input).extend({ name: z.string(), sha256: z.string() }));
}

/** Whether the body is something else than JSON. */
export function isFileBody({ headers }: RequestContext['request']): boolean {
  const isEmpty = headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';');
  return !isEmpty && type.trim() !== 'application/json';
}

/**
 * A file as the body of a request: a form with the field `file` (`curl -F file=@…`), or the bytes themselves (`curl --data-binary @…`) with
 * their name in the query. A caller sends one at a time; others of it wait until `release`, so that few bytes are in memory.
 */
export class FileBody {
  readonly #context: RequestContext;
  readonly #readFields: QueryReader;
  #endTurn: (() => void) | undefined;
  bytes: Buffer | undefined;

  constructor(context: RequestContext, readFields: QueryReader) {
    this.#context = context;
    this.#readFields = readFields;
  }

  /** The input of the tool, without the bytes. @throws ToolError (too_large, invalid_input) */
  async read(): Promise<object> {
    const { principal, parameters, request, url } = this.#context;
    this.#endTurn = await turnOf(`${principal.type} ${principal.id}`);
    const query = this.#readFields(url.searchParams);
    const type = request.headers['content-type'] ?? '';
    const isForm = /^multipart\/form-data\b/i.test(type);
    const body = await readBody(this.#context, isForm ? FORM : FILE);
    const form = isForm ? formOf(body, type) : undefined;
    const given = form ? this.#readFields(form.texts) : {};
    requireOnce(Object.keys(query), given, 'in the query and in the form');
    requireOnce(Object.keys(parameters), { ...query, ...given }, 'in the path and beside the file');
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
    this.bytes = bytes;
    // The hash stands for the bytes where repeats are compared.
    return { ...fields, ...parameters, file: { name, sha256: sha256 ?? (await hashOf(bytes)) } };
  }

  release(): void {
    this.#endTurn?.();
    this.bytes = undefined;
  }
}

const NAMELESS = 'The file has no name; give it in the query, such as ?name=handbook.pdf, or send a form (-F file=@…).';

function requireOnce(names: readonly string[], given: object, where: string): void {
  const twice = names.find((name) => Object.hasOwn(given, name));
  if (twice !== undefined) throw new ToolError('invalid_input', `${twice} is given ${where}; give it once.`);
}

const turns = new Map<string, { readonly mutex: Mutex; callers: number }>();

async function turnOf(caller: string): Promise<() => void> {
  const turn = turns.get(caller) ?? { mutex: new Mutex(), callers: 0 };
  turns.set(caller, turn);
  turn.callers += 1;
  const end = await turn.mutex.take();
  return () => {
    end();
    turn.callers -= 1;
    if (turn.callers === 0) turns.delete(caller);
  };
}

interface Form {
  readonly bytes: Buffer;
  readonly name: string | undefined;
  readonly texts: URLSearchParams;
}

function formOf(body: Buffer, type: string): Form {
  const parts = partsOf(body, type);
  if (!parts) throw new ToolError('invalid_input', 'The body is not a form (multipart/form-data) with its boundary.');
  const [file, ...others] = parts.filter(({ field }) => field === 'file');
  if (file?.filename === undefined || others.length > 0) {
    throw new ToolError('invalid_input', 'The form must have one file, in the field `file`; send one at a time.');
  }
  const texts = new URLSearchParams();
  for (const { field, bytes } of parts) if (field !== 'file') texts.append(field, decodeText(bytes));
  return { bytes: file.bytes, name: file.filename || undefined, texts };
}
