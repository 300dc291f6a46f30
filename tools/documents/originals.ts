import type { Document } from '../../resources/document.ts';
import { newId } from '../../store/ids.ts';
import type { Readers } from '../../store/port.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { ServerContext } from '../core/registry/context.ts';

type Files = Pick<ServerContext, 'files'>['files'];
type FileRecords = Pick<Readers['documentFiles'], 'first' | 'get'>;

/** A file that was put, and has no record yet. Undefined where the document has it already. */
export interface PutFile {
  readonly id: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

interface Put {
  readonly store: { readonly documentFiles: FileRecords };
  readonly files: Files;
}

/** Puts the bytes of which a document is being made, unless an earlier state of it was made of them. */
export async function putFile(
  bytes: Uint8Array,
  { sha256, documentId }: { readonly sha256: string; readonly documentId?: string | undefined },
  { store, files }: Put,
): Promise<PutFile | undefined> {
  const where = { documentId, sha256 };
  if (documentId !== undefined && (await store.documentFiles.first({ where }))) return undefined;
  const id = newId('fil');
  await files.put(id, bytes);
  return { id, sha256, sizeBytes: bytes.length };
}

/** Removes the file where its document did not come to be. What cannot be removed now is found without a record later. */
export async function discardFile({ id }: PutFile, { store, files }: Put): Promise<void> {
  try {
    if (!(await store.documentFiles.get(id))) await files.discard([id]);
  } catch {
    // the store is away, and removes it by itself
  }
}

/** Makes the file one of the document. */
export async function keepFile(
  { documentFiles }: Pick<HistoryWriters, 'documentFiles'>,
  documentId: string,
  file: PutFile | undefined,
): Promise<void> {
  if (!file) return;
  const { sha256 } = file;
  if (!(await documentFiles.first({ where: { documentId, sha256 } })))
    await documentFiles.insert({ ...file, documentId });
}

/** The file that the document, as it is, was made of. Undefined where it is not kept. */
export async function fileOf({ id: documentId, source }: Document, { documentFiles }: Pick<Readers, 'documentFiles'>) {
  return source && documentFiles.first({ where: { documentId, sha256: source.sha256 } });
}

const BATCH = 100;

/** Removes the files of a document that is purged. */
export async function forgetFiles(
  { documentFiles }: Pick<HistoryWriters, 'documentFiles'>,
  documentId: string,
): Promise<void> {
  for (;;) {
    const { records } = await documentFiles.find({ where: { documentId }, limit: BATCH });
    await documentFiles.deleteAll(records.map(({ id }) => id));
    if (records.length < BATCH) return;
  }
}
