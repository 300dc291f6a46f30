import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { devNull } from 'node:os';
import { dirname } from 'node:path';
import type { DuckDBInstance } from '@duckdb/node-api';
import { refusalOf } from '../disk-full.ts';
import { ResourcePool } from '../resource-pool.ts';
import { type ReadOptions, type RowSnapshot, snapshotOf } from '../rows-port.ts';
import { Connection } from './connection.ts';

const require = createRequire(import.meta.url);
/** Looked for at once: what Node.js did not find, as where no file can be opened, it does not look for again. */
const enginePath = require.resolve('@duckdb/node-api');
createRequire(enginePath).resolve('@duckdb/node-bindings');

/**
 * Loads the engine at first need, because it takes 50 MB. Node.js keeps a failed `import` for ever, and tries a failed `require` again.
 * @throws StoreUnavailable
 */
function load(): typeof import('@duckdb/node-api') {
  try {
    return require(enginePath);
  } catch (cause) {
    throw refusalOf(cause, '', 'the engine of imported rows could not be loaded');
  }
}

/** More than the engine opens at its start. */
const FILES = 8;

/** The engine ends the process where it can open its first file and no more. @throws StoreBusy */
function requireFiles(): void {
  const taken: number[] = [];
  try {
    while (taken.length < FILES) taken.push(openSync(devNull, 'r'));
  } catch (cause) {
    throw refusalOf(cause, devNull, 'the engine of imported rows could not be opened');
  } finally {
    for (const descriptor of taken) closeSync(descriptor);
  }
}

interface EngineOptions {
  readonly path: string | undefined;
  readonly temporary: string | undefined;
  readonly memoryMb: number;
}

/** The engine on one file. It reaches no file outside of the file's folder, no network and no extension, and stays so. */
export class Engine {
  readonly #instance: DuckDBInstance;

  private constructor(instance: DuckDBInstance) {
    this.#instance = instance;
  }

  static async open({ path, temporary, memoryMb }: EngineOptions): Promise<Engine> {
    const { DuckDBInstance } = load();
    requireFiles();
    const instance = await DuckDBInstance.create(path ?? ':memory:', {
      threads: path === undefined ? '1' : '2',
      memory_limit: `${memoryMb}MB`,
      // `DuckRowStore` decides when, because nobody may commit during this.
      checkpoint_threshold: '1TB',
      integer_division: 'true',
      default_null_order: 'nulls_last_on_asc_first_on_desc',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      ...(temporary && { temp_directory: temporary }),
    });
    const engine = new Engine(instance);
    const first = await engine.connect();
    if (path) await first.run(`set allowed_directories = [${text(dirname(path))}]`);
    await first.run('set enable_external_access = false');
    await first.run('set lock_configuration = true');
    first.close();
    return engine;
  }

  async connect(): Promise<Connection> {
    return new Connection(await this.#instance.connect());
  }

  close(): void {
    this.#instance.closeSync();
  }
}

export function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

export class Readers {
  readonly #connections: ResourcePool<Connection>;

  constructor(connections: readonly Connection[]) {
    this.#connections = new ResourcePool(connections);
  }

  /** Runs the work on one state of the rows. @throws the reason of the signal when it is aborted */
  async read<Result>(work: (snapshot: RowSnapshot) => Promise<Result>, { signal }: ReadOptions = {}): Promise<Result> {
    return this.#connections.use(async (connection) => {
      const interrupt = () => connection.interrupt();
      signal?.addEventListener('abort', interrupt);
      try {
        return await connection.transaction(() => work(snapshotOf(connection, signal)), 'read only');
      } finally {
        signal?.removeEventListener('abort', interrupt);
      }
    }, signal);
  }

  async close(): Promise<void> {
    for (const connection of await this.#connections.allBack()) connection.close();
  }
}
