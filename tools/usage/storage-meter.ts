import { FILE_RECORDS } from '../../store/files-port.ts';
import type { Store } from '../../store/port.ts';
import type { Size } from '../../store/sizes.ts';
import type { Principal } from '../core/access/principal.ts';
import { type StorageQuotas, type StorageRoom, type StorageState, storageOwnerOf } from '../core/access/storage.ts';
import { ToolError } from '../core/errors.ts';

/** In bytes; 0 sets no limit. */
export interface StorageLimits {
  readonly workspace: number;
  readonly caller: number;
}

/** For so long sizes are believed while less than half of each limit is used; later, or beyond, each write asks. */
const FRESH_MS = 1000;
/** From this share of a limit on, health and alerts name it. */
const NEARLY_FULL = 0.9;
const MIB = 1024 * 1024;
const WORKSPACE = 'workspace';

type Sums = Map<string, number>;

interface KnownUse {
  readonly at: number;
  readonly kept: Sums;
  readonly ended: Sums;
}

/** Holds writes against the limits of storage. The store adds up what it keeps, so nothing here outlives a restart. */
export class StorageMeter implements StorageQuotas {
  readonly #store: Pick<Store, 'sizes' | 'fullMemory'>;
  readonly #limits: StorageLimits;
  /** Bytes that transactions of this process noted, and of those whose transactions have ended. */
  readonly #noted: Sums = new Map();
  readonly #ended: Sums = new Map();
  #known: KnownUse | undefined;

  constructor(store: Pick<Store, 'sizes' | 'fullMemory'>, limits: StorageLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  roomFor(principal: Principal): Promise<StorageRoom> | undefined {
    const full = this.#store.fullMemory();
    if (full !== undefined) return Promise.resolve(noRoom(full));
    const { workspace, caller } = this.#limits;
    return workspace === 0 && caller === 0 ? undefined : this.#roomFor(storageOwnerOf(principal));
  }

  async state(): Promise<StorageState> {
    const sizes = await this.#sizes();
    const kept = sumsBy(sizes, ({ principalId }) => principalId);
    const kinds = sumsBy(sizes, ({ entityType }) => entityType);
    const used = kept.get(WORKSPACE) ?? 0;
    const { workspace } = this.#limits;
    kinds.delete(WORKSPACE);
    return {
      usedBytes: used,
      limitBytes: workspace || null,
      share: workspace === 0 ? null : Math.round((used / workspace) * 1000) / 1000,
      kinds: [...kinds].map(([type, bytes]) => ({ type, bytes })).sort((one, other) => other.bytes - one.bytes),
      nearlyFull: [...kept]
        .filter(([id, bytes]) => this.#limitOf(id) > 0 && bytes >= this.#limitOf(id) * NEARLY_FULL)
        .sort(([one], [other]) => (one === WORKSPACE ? -1 : other === WORKSPACE ? 1 : one < other ? -1 : 1))
        .map(([id, bytes]) => ({ id, text: this.#told(id, bytes) })),
    };
  }

  async #roomFor(id: string): Promise<StorageRoom> {
    let known = this.#known;
    if (!known || performance.now() - known.at > FRESH_MS || this.#isHalfUsed(known, id)) known = await this.#ask();
    const judged = known;
    let own = 0;
    return {
      require: (bytes) => this.#require(judged, id, bytes),
      note: (bytes) => {
        own += bytes;
        for (const name of [id, WORKSPACE]) add(this.#noted, name, bytes);
      },
      end: () => {
        for (const name of [id, WORKSPACE]) add(this.#ended, name, own);
        own = 0;
      },
    };
  }

  async #ask(): Promise<KnownUse> {
    const ended = new Map(this.#ended);
    const at = performance.now();
    const kept = sumsBy(await this.#sizes(), ({ principalId }) => principalId);
    this.#known = { at, kept, ended };
    return this.#known;
  }

  async #sizes(): Promise<readonly Size[]> {
    const [versions, files] = await Promise.all([this.#store.sizes('versions'), this.#store.sizes(FILE_RECORDS)]);
    return [
      ...versions,
      ...files.map((size) => ({ ...size, values: { ...size.values, entityType: 'document-file' } })),
    ];
  }

  /** What was kept, and what this process has noted since or was about to commit then. */
  #used({ kept, ended }: KnownUse, id: string): number {
    return (kept.get(id) ?? 0) + (this.#noted.get(id) ?? 0) - (ended.get(id) ?? 0);
  }

  #isHalfUsed(known: KnownUse, id: string): boolean {
    return [id, WORKSPACE].some((name) => {
      const limit = this.#limitOf(name);
      return limit > 0 && this.#used(known, name) > limit / 2;
    });
  }

  #require(known: KnownUse, id: string, bytes: number): void {
    for (const name of [id, WORKSPACE]) {
      const limit = this.#limitOf(name);
      const used = this.#used(known, name);
      if (limit === 0 || used + bytes <= limit) continue;
      throw new ToolError(
        'too_large',
        `${this.#told(name, used)} This needs ${mib(bytes)} MB more. ${this.#next(name)}`,
      );
    }
  }

  #limitOf(name: string): number {
    return name === WORKSPACE ? this.#limits.workspace : this.#limits.caller;
  }

  #told(name: string, used: number): string {
    const whose = name === WORKSPACE ? 'this workspace' : name;
    return `The storage of ${whose} is used to ${mib(used)} of ${mib(this.#limitOf(name))} MB, earlier states and deleted records included.`;
  }

  #next(name: string): string {
    const setting = name === WORKSPACE ? 'STORAGE_LIMIT_MB' : 'STORAGE_LIMIT_PER_CALLER_MB';
    return `An admin makes room with purge_record (what is deleted keeps its history, so it takes room until then), or an operator raises ${setting}.`;
  }
}

/** For a transaction that is to add nothing. */
function noRoom(why: string): StorageRoom {
  return {
    require() {
      throw new ToolError('unavailable', why, { notMade: true });
    },
    note() {},
    end() {},
  };
}

function sumsBy(
  sizes: readonly Size[],
  nameOf: (values: Readonly<Record<string, string>>) => string | undefined,
): Sums {
  const sums: Sums = new Map();
  for (const { values, bytes } of sizes) {
    const name = nameOf(values);
    if (name !== undefined) add(sums, name, bytes);
    add(sums, WORKSPACE, bytes);
  }
  return sums;
}

function add(sums: Sums, name: string, bytes: number): void {
  sums.set(name, (sums.get(name) ?? 0) + bytes);
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(bytes < 10 * MIB ? 2 : 1);
}
