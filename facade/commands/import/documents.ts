import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../../store/errors.ts';
import { MOST_INLINE_BYTES } from '../../../tools/documents/file-input.ts';
import type { ClientConfig } from '../client-config.ts';
import { callServer, type SentFile, type ServerAnswer, sendFile } from '../server-call.ts';
import { createOnce } from './create-once.ts';
import { ProgressLine } from './file.ts';

interface FolderImport {
  readonly folder: string;
  readonly client: ClientConfig;
  readonly projectId: string | undefined;
  readonly tags: readonly string[] | undefined;
  /** Under this name the documents of the folder are found again. */
  readonly as: string | undefined;
  /** Endings of further files that are taken. */
  readonly also: readonly string[];
  readonly deleteRemoved: boolean;
  readonly dryRun: boolean;
}

const EXTENSIONS = ['.pdf', '.docx', '.html', '.htm', '.xhtml', '.md', '.markdown', '.mdx', '.txt', '.csv', '.tsv'];
const AT_ONCE = 4;
const WAIT_MS = 2000;
const PAGE = 100;

/** A document that an earlier import made. */
interface Imported {
  readonly id: string;
  readonly source?: { readonly name: string; readonly sha256: string };
}

interface Sum {
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
}

/** Makes a document of each file below the folder, and sends only files that changed since. Returns 0 when every file was taken. */
export async function importDocuments(options: FolderImport): Promise<number> {
  const { folder, client, dryRun, deleteRemoved } = options;
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new OperatorError(`There is no folder ${folder}.`);
  const root = options.as ?? basename(resolve(folder));
  const { files, others, taken } = filesBelow(folder, options.also);
  if (files.length === 0)
    throw new OperatorError(`The folder ${folder} has no files of these types: ${taken.join(' ')}.`);
  const known = await importedUnder(root, options);
  const sum: Sum = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  const progress = new ProgressLine(files.length, process.stderr, 'files');
  const queue = [...files];
  const work = async () => {
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      const outcome = await importFile(path, { root, known, options });
      progress.show(files.length - queue.length, files.length - queue.length);
      if (typeof outcome === 'string') sum[outcome] += 1;
      else {
        sum.refused += 1;
        progress.end();
        console.error(`${path}: ${outcome.refusal}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  progress.end();
  const present = new Set([...files, ...others].map((path) => `${root}/${path}`));
  const removed = [...known].filter(([name]) => !present.has(name));
  for (const [name, { id }] of removed) {
    console.error(
      `${name.slice(root.length + 1)} is no longer there: ${id}${deleteRemoved && !dryRun ? ' is deleted' : ''}`,
    );
    if (deleteRemoved && !dryRun) required(await calling(client, 'delete_document', { id }));
  }
  const { created, updated, unchanged, refused } = sum;
  const gone =
    removed.length === 0
      ? ''
      : `, ${removed.length} ${deleteRemoved ? 'deleted' : 'removed (--delete-removed deletes them)'}`;
  const leftOut = others.length === 0 ? '' : `, ${others.length} of other types left out`;
  const head = dryRun ? 'would be documents' : 'documents';
  console.log(
    `${head}: ${created} new, ${updated} changed, ${unchanged} unchanged, ${refused} refused${gone}${leftOut}.`,
  );
  return refused > 0 ? 1 : 0;
}

/** Paths with `/`, in order. Hidden files and folders are left out. */
function filesBelow(folder: string, also: readonly string[]) {
  const taken = [...EXTENSIONS, ...also.map((ending) => `.${ending.replace(/^\./, '').toLowerCase()}`)];
  const files: string[] = [];
  const others: string[] = [];
  const walk = (below: string) => {
    for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile() && taken.includes(extname(entry.name).toLowerCase())) files.push(path);
      else others.push(path);
    }
  };
  walk('');
  if (others.length > 0) console.error(describeLeftOut(others.sort(), taken));
  return { files: files.sort(), others, taken };
}

const MOST_NAMED = 20;

function describeLeftOut(others: readonly string[], taken: readonly string[]): string {
  const more = others.length > MOST_NAMED ? ` and ${others.length - MOST_NAMED} more` : '';
  const found = new Set(others.map((path) => extname(path).toLowerCase()));
  // A link has a type that is taken, and is left out as one.
  const endings = [...found].filter((one) => one.length > 1 && !taken.includes(one)).map((one) => one.slice(1));
  const next =
    endings.length > 0 ? ` Of these, --also ${endings.slice(0, MOST_NAMED).join(',')} takes those that are text.` : '';
  return `Left out: ${others.slice(0, MOST_NAMED).join(', ')}${more}. Taken are ${taken.join(' ')}, and no links.${next}`;
}

async function importedUnder(root: string, { client, projectId }: FolderImport): Promise<Map<string, Imported>> {
  const known = new Map<string, Imported>();
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const input = { limit: PAGE, ...(projectId !== undefined && { projectId }), ...(cursor && { cursor }) };
    const page = required(await calling(client, 'list_documents', input)) as {
      readonly data: readonly Imported[];
      readonly nextCursor: string | null;
    }; // an answer of our own server
    for (const document of page.data) {
      const { name } = document.source ?? {};
      if (name?.startsWith(`${root}/`) && !known.has(name)) known.set(name, document);
    }
    cursor = page.nextCursor;
  }
  return known;
}

type Outcome = 'created' | 'updated' | 'unchanged' | { readonly refusal: string };

interface FileImport {
  readonly root: string;
  readonly known: ReadonlyMap<string, Imported>;
  readonly options: FolderImport;
}

async function importFile(path: string, { root, known, options }: FileImport): Promise<Outcome> {
  const { folder, client, projectId, tags, dryRun } = options;
  const name = `${root}/${path}`;
  const bytes = readFileSync(join(folder, path));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const file = { bytes, name, sha256 };
  const former = known.get(name);
  if (former?.source?.sha256 === sha256) return 'unchanged';
  const outcome = former ? 'updated' : 'created';
  if (dryRun) return outcome;
  const fields = { ...(projectId !== undefined && { projectId }), ...(tags && { tags: [...tags] }) };
  const answer = former
    ? await sending(client, file, { id: former.id })
    : await createOnce({
        identity: [name, sha256, fields],
        create: (key) => sending(client, file, fields, key),
        isThere: async (id) => isOf(await calling(client, 'get_document', { id, limit: 1 }), file),
        wait: () => delay(WAIT_MS),
      });
  if ('output' in answer) {
    const { warnings = [] } = answer.output as { readonly warnings?: readonly string[] }; // of our own server
    for (const warning of warnings) console.error(`${path}: ${warning}`);
    return answer.replayed ? 'unchanged' : outcome;
  }
  return { refusal: 'failure' in answer ? answer.failure.error : answer.refusal };
}

type ImportedFile = Omit<SentFile, 'fields'>;

function sending(
  client: ClientConfig,
  file: ImportedFile,
  fields: SentFile['fields'],
  key?: string,
): Promise<ServerAnswer> {
  const { bytes, ...named } = file;
  if (bytes.length > MOST_INLINE_BYTES) return retried(() => sendFile(client, { ...file, fields }, key));
  const tool = 'id' in fields ? 'update_document' : 'create_document';
  return calling(client, tool, { ...fields, file: { ...named, data: bytes.toString('base64') } }, key);
}

/** Whether the document that was read still is the one of the file. Another import may have changed it since. */
function isOf(answer: ServerAnswer, { name }: ImportedFile): boolean {
  if ('output' in answer) return (answer.output as Imported).source?.name === name; // of get_document
  if ('failure' in answer && answer.failure.code === 'not_found') return false;
  throw new OperatorError('failure' in answer ? answer.failure.error : answer.refusal);
}

function calling(client: ClientConfig, tool: string, input: object, key?: string): Promise<ServerAnswer> {
  return retried(() => callServer(client, tool, input, key));
}

/** Waits while the server has too much to do. */
async function retried(call: () => Promise<ServerAnswer>): Promise<ServerAnswer> {
  for (let tries = 0; ; tries += 1) {
    const answer = await call();
    const code = 'failure' in answer ? answer.failure.code : undefined;
    if (code !== 'rate_limited' && (code !== 'unavailable' || tries >= MOST_TRIES)) return answer;
    await delay(WAIT_MS);
  }
}

const MOST_TRIES = 5;

function required(answer: ServerAnswer): unknown {
  if ('output' in answer) return answer.output;
  throw new OperatorError('failure' in answer ? answer.failure.error : answer.refusal);
}
