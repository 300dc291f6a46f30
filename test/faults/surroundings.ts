import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { dataFolder, removeFolder, type StoreKind } from '../support/store.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { FaultedDatabase } from './database.ts';
import { HttpFailures } from './http-failures.ts';
import { ProcessControls } from './process-controls.ts';

export const farEndNames = ['model', 'upstream', 'receiver'] as const;
export type FarEndName = (typeof farEndNames)[number];

/** How the processes reach a far end. */
export interface FarEndWire {
  readonly proxy: TcpProxy;
  readonly failures: HttpFailures;
}

/** Of the data of the embedded store. */
const DISK_MB = 300;
const MOST_PROCESSES = 4;

/** What the processes stand on and reach others by: folder or database, disk, clock, network. Faults break it. */
export class Surroundings {
  /** Of the data of the embedded store, and of what processes write beside a database. */
  readonly folder: string;
  /** That of the embedded store's data, where the machine permits one. */
  readonly disk: SmallDisk | undefined;
  readonly database: FaultedDatabase | undefined;
  /** What each process believes of clock and names. */
  readonly controls: readonly ProcessControls[];
  readonly #wires = new Map<FarEndName, FarEndWire>();
  readonly #place: string;

  private constructor(place: string, disk: SmallDisk | undefined, database: FaultedDatabase | undefined) {
    this.#place = place;
    this.disk = disk;
    this.database = database;
    this.folder = join(disk?.folder ?? place, 'store');
    mkdirSync(this.folder);
    this.controls = Array.from({ length: MOST_PROCESSES }, (_, at) => new ProcessControls(place, String(at)));
  }

  static async open(store: StoreKind): Promise<Surroundings> {
    const place = await dataFolder();
    if (store === 'lowdb') return new Surroundings(place, await openSmallDisk(DISK_MB), undefined);
    return new Surroundings(place, undefined, await FaultedDatabase.open(MOST_PROCESSES));
  }

  /** The database as it is, past everything that faults put before it: for checks. */
  get databaseUrl(): string | undefined {
    return this.database?.url;
  }

  /** Called before a process starts: what it gets into its environment. */
  envOf(at: number): Record<string, string> {
    const { database } = this;
    return {
      DATA_DIR: this.folder,
      ...this.controls[at]?.env,
      ...(database && { DATABASE_URL: named(database.addressOf(at)) }),
    };
  }

  /** The address by which the processes reach the far end. Called once for each, before the first process starts. */
  async through(name: FarEndName, url: string): Promise<string> {
    const failures = new HttpFailures();
    const proxy = await TcpProxy.before(url, failures.watch);
    this.#wires.set(name, { proxy, failures });
    return named(proxy.inFrontOf(url));
  }

  wireTo(name: FarEndName): FarEndWire {
    const wire = this.#wires.get(name);
    if (!wire) throw new Error(`Nothing leads to the ${name}.`);
    return wire;
  }

  async close(): Promise<void> {
    await this.database?.close();
    for (const { proxy } of this.#wires.values()) await proxy.close();
    await this.disk?.close();
    await removeFolder(this.#place);
  }
}

/** By a name, which faults can have not found. */
function named(url: string): string {
  return url.replace('127.0.0.1', 'localhost');
}
