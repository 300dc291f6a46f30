import { constants, writeSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';

/** How the store writes to the disk. Tests use files that fail instead. */
export interface FileSystem {
  /** Opens a file for writes at given positions. Where the file does not exist, it is made, readable by its owner only. */
  open(path: string): Promise<WritableFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  syncFolder(path: string): Promise<void>;
}

export interface WritableFile {
  /** Returns how many bytes were written, which may be fewer than were given. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  /** Writes all bytes before it returns. It may wait for the page cache, not for the disk, so it is for a few bytes. */
  writeNow(bytes: Uint8Array, position: number): void;
  sync(): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

export const nodeFileSystem: FileSystem = {
  async open(path) {
    const handle = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    return {
      write: async (bytes, position) => (await handle.write(bytes, 0, bytes.length, position)).bytesWritten,
      writeNow: (bytes, position) => {
        const written = writeSync(handle.fd, bytes, 0, bytes.length, position);
        if (written < bytes.length) throw new Error('the disk took a part of the bytes');
      },
      sync: () => handle.datasync(),
      truncate: (size) => handle.truncate(size),
      close: () => handle.close(),
    };
  },
  rename,
  remove: (path) => rm(path, { force: true }),
  async syncFolder(path) {
    // Windows cannot open a folder. Its file systems make names durable by themselves.
    if (process.platform === 'win32') return;
    const handle = await open(path, constants.O_RDONLY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};

export async function writeAll(file: WritableFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const written = await file.write(done === 0 ? bytes : bytes.subarray(done), position + done);
    if (written === 0) throw new Error('the disk took no bytes');
    done += written;
  }
}
