import { type FileSystem, nodeFileSystem, type WritableFile } from '../../store/lowdb/files/file-system.ts';

export type Failure = 'write' | 'short write' | 'sync' | 'sync and truncate' | 'rename' | undefined;

/** The real files, which fail as a test asks where the path matches. */
export class FailingFiles implements FileSystem {
  failure: Failure;
  path = /./;
  bytesWritten = 0;
  writes = 0;
  /** Files that are open now. */
  readonly held = new Set<WritableFile>();
  syncs = 0;
  readonly operations: ('write' | 'sync' | 'truncate')[] = [];
  remove = nodeFileSystem.remove;
  beforeSyncFolder: (() => Promise<void>) | undefined;
  beforeSync: (() => void) | undefined;

  async open(path: string): Promise<WritableFile> {
    const file = await nodeFileSystem.open(path);
    this.held.add(file);
    return {
      write: async (bytes, position) => {
        this.#fail(path, 'write');
        this.writes += 1;
        const short = this.#is(path, 'short write');
        const written = await file.write(short ? bytes.subarray(0, Math.ceil(bytes.length / 2)) : bytes, position);
        this.bytesWritten += written;
        if (short) this.failure = 'write';
        this.operations.push('write');
        return written;
      },
      writeNow: (bytes, position) => {
        this.#fail(path, 'write');
        file.writeNow(bytes, position);
      },
      sync: async () => {
        this.beforeSync?.();
        this.#fail(path, 'sync');
        this.#fail(path, 'sync and truncate');
        this.syncs += 1;
        await file.sync();
        this.operations.push('sync');
      },
      truncate: async (size) => {
        this.#fail(path, 'sync and truncate');
        await file.truncate(size);
        this.operations.push('truncate');
      },
      close: async () => {
        await file.close();
        this.held.delete(file);
      },
    };
  }

  async syncFolder(path: string): Promise<void> {
    await this.beforeSyncFolder?.();
    await nodeFileSystem.syncFolder(path);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#fail(to, 'rename');
    await nodeFileSystem.rename(from, to);
  }

  #is(path: string, failure: Failure): boolean {
    return this.failure === failure && this.path.test(path);
  }

  #fail(path: string, failure: Failure): void {
    if (this.#is(path, failure)) throw Object.assign(new Error(`injected ${failure} failure`), { code: 'ENOSPC' });
  }
}
