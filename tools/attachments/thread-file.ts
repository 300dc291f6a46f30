import { z } from 'zod';
import { attachment } from '../../resources/attachment.ts';
import type { Readers } from '../../store/port.ts';
import type { Context } from '../core/registry/context.ts';

export const threadFile = attachment
  .omit({ tokens: true })
  .extend({ url: z.string().describe('Answers the bytes to whoever may read the thread, with the same credentials.') });

/** Files of other threads are told of as little as those that never were. */
export async function fileIn(
  id: string,
  file: string,
  { store, server, fail }: Context<Pick<Readers, 'documentFiles'>, 'not_found'>,
): Promise<z.infer<typeof threadFile>> {
  const found = await store.documentFiles.get(file);
  if (found?.threadId !== id || found.name === undefined || found.mediaType === undefined) {
    throw fail('not_found', `The thread has no file ${file}; list_messages shows its attachments.`);
  }
  const { name, mediaType, sizeBytes, sha256 } = found;
  return {
    id: file,
    name,
    mediaType,
    sizeBytes,
    sha256,
    url: `${server.baseUrl ?? ''}/api/v1/threads/${id}/files/${file}`,
  };
}
