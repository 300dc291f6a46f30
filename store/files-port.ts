/**
 * Bytes that are too large for records. A file belongs to the record of `documentFiles` with its id: it is put before that record is
 * inserted, goes with it, and without it counts as not there.
 */
export interface StoredFiles {
  /** Keeps the bytes, whole or not at all; durable when it resolves. One of the same id is replaced. @throws StoreUnavailable */
  put(id: string, bytes: Uint8Array): Promise<void>;
  /** The bytes in pieces of a megabyte at most, at least one piece. Nothing where there is no such file. @throws StoreUnavailable */
  read(id: string): AsyncIterable<Uint8Array>;
  /** Removes files whose records were never inserted. @throws StoreUnavailable */
  discard(ids: readonly string[]): Promise<void>;
}

export const PIECE_BYTES = 1024 * 1024;
/** The collection whose records decide which files there are. */
export const FILE_RECORDS = 'documentFiles';
