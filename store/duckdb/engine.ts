import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DuckDBInstance } from '@duckdb/node-api';
import { Connection } from './connection.ts';

export interface EngineOptions {
  /** A file, or ':memory:'. One engine at a time may have the file open. */
  readonly path: string;
  readonly memoryMb: number;
}

export const IN_MEMORY = ':memory:';

/** The engine on one file. It reaches no file outside of the file's folder, no network and no extension, and stays so. */
export class Engine {
  readonly path: string;
  readonly #instance: DuckDBInstance;

  private constructor(path: string, instance: DuckDBInstance) {
    this.path = path;
    this.#instance = instance;
  }

  static async open({ path, memoryMb }: EngineOptions): Promise<Engine> {
    // Loaded at first need: loading takes time and memory that a server without imported rows does not spend.
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const folder = path === IN_MEMORY ? undefined : dirname(path);
    const instance = await DuckDBInstance.create(path, {
      threads: '2',
      memory_limit: `${memoryMb}MB`,
      integer_division: 'true',
      default_null_order: 'nulls_last_on_asc_first_on_desc',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      ...(folder && { temp_directory: emptied(join(folder, TEMPORARY)) }),
    });
    const engine = new Engine(path, instance);
    const first = await engine.connect();
    if (folder) await first.run(`set allowed_directories = ['${folder.replaceAll("'", "''")}']`);
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

/** The folder for what does not fit into memory. */
export const TEMPORARY = 'rows-temporary';

function emptied(folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
