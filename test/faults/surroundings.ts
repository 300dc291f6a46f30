import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { dataFolder, removeFolder, type StoreKind } from '../support/store.ts';

export type FarEndName = 'model' | 'upstream' | 'receiver';

/** What the processes stand on and reach others by: folder or database, disk, clock, network. Faults break it. */
export class Surroundings {
  /** Of the data of the embedded store, and of what processes write beside a database. */
  readonly folder: string;
  #postgres: TestPostgres | undefined;

  private constructor(folder: string, postgres: TestPostgres | undefined) {
    this.folder = folder;
    this.#postgres = postgres;
  }

  static async open(store: StoreKind): Promise<Surroundings> {
    return new Surroundings(
      await dataFolder(),
      store === 'postgres' ? await startPostgres({ durable: true }) : undefined,
    );
  }

  /** The database as it is, past everything that faults put before it: for checks. */
  get databaseUrl(): string | undefined {
    return this.#postgres?.url;
  }

  /** Called before a process starts: what it gets into its environment. */
  envOf(_at: number): Record<string, string> {
    return { DATA_DIR: this.folder, ...(this.#postgres && { DATABASE_URL: this.#postgres.url }) };
  }

  /** The address by which the processes reach the far end. Called once for each, before the first process starts. */
  async through(_name: FarEndName, url: string): Promise<string> {
    return url;
  }

  async close(): Promise<void> {
    await this.#postgres?.stop();
    await removeFolder(this.folder);
  }
}
