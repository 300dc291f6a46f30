import type { Attachment } from '../../resources/attachment.ts';
import { newId } from '../../store/ids.ts';
import type { Readers } from '../../store/port.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { ServerContext } from '../core/registry/context.ts';
import type { AttachedText } from '../documents/attached-text.ts';

/** A file of a message whose bytes are in the store, and that has no record yet. */
export interface StagedFile extends Partial<AttachedText> {
  readonly attachment: Attachment;
}

type Files = Pick<HistoryWriters, 'documentFiles'>;

/** Makes the files those of the thread. */
export async function keepFiles(
  { documentFiles }: Files,
  threadId: string,
  files: readonly StagedFile[],
): Promise<void> {
  for (const { attachment, text, cut } of files) {
    const { tokens: _, ...file } = attachment;
    await documentFiles.insert({
      ...file,
      threadId,
      ...(text !== undefined && { text }),
      ...(cut !== undefined && { cut }),
    });
  }
}

const BATCH = 100;

/** Removes the files of a thread that is deleted. */
export async function removeFiles({ documentFiles }: Files, threadId: string): Promise<void> {
  for (;;) {
    const { records } = await documentFiles.find({ where: { threadId }, limit: BATCH });
    await documentFiles.deleteAll(records.map(({ id }) => id));
    if (records.length < BATCH) return;
  }
}

type Reading = { readonly store: Pick<Readers, 'documentFiles'>; readonly server: Pick<ServerContext, 'files'> };

/** The bytes of the file. Undefined where it is not there any more. */
export async function bytesOf(id: string, { files }: Pick<ServerContext, 'files'>): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  for await (const piece of files.read(id)) pieces.push(piece);
  return pieces.length === 0 ? undefined : Buffer.concat(pieces);
}

/** Removes what was put and did not become a file of a message. What cannot be removed now is found without a record later. */
export async function discardUnkept(ids: readonly string[], { store, server }: Reading): Promise<void> {
  if (ids.length === 0) return;
  try {
    const kept = await Promise.all(ids.map((id) => store.documentFiles.get(id)));
    await server.files.discard(ids.filter((_, at) => !kept[at]));
  } catch {
    // the store is away, and removes them by itself
  }
}

/** Puts copies of the files, one after the other: all or none. Returns them by the ids of the originals. */
export async function copyFiles(
  attachments: readonly Attachment[],
  { store, server }: Reading,
): Promise<ReadonlyMap<string, StagedFile>> {
  const copies = new Map<string, StagedFile>();
  try {
    for (const attachment of attachments) {
      if (copies.has(attachment.id)) continue;
      const [record, bytes] = [await store.documentFiles.get(attachment.id), await bytesOf(attachment.id, server)];
      if (!record || !bytes) continue;
      const id = newId('fil');
      await server.files.put(id, bytes);
      const { text, cut } = record;
      const beginning = { ...(text !== undefined && { text }), ...(cut !== undefined && { cut }) };
      copies.set(attachment.id, { attachment: { ...attachment, id }, ...beginning });
    }
  } catch (thrown) {
    await discardUnkept(
      [...copies.values()].map(({ attachment: { id } }) => id),
      { store, server },
    );
    throw thrown;
  }
  return copies;
}
