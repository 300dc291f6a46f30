import { setTimeout } from 'node:timers/promises';
import type { Cluster } from '../../../store/cluster-port.ts';
import type { RecordOf } from '../../../store/collections.ts';
import type { Commit, Reader, Store } from '../../../store/port.ts';
import { allOf } from './paging.ts';

/** Collections whose records are in effect while they are enabled. */
type Switched = 'budgets' | 'flows' | 'modelProviders' | 'webhooks';

interface EnabledRecordsDeps<Name extends Switched> {
  readonly store: Pick<Store, 'onCommit' | Name> & { readonly cluster?: Pick<Cluster, 'onGap'> };
  readonly name: Name;
  /** The record is in effect as it is here. It may be told again unchanged. */
  put(record: RecordOf<Name>): void;
  /** The record is in effect no more: it was disabled or deleted. */
  drop(id: string): void;
  /** All changes known now were told. */
  settled(): void;
  onFailure(cause: unknown): void;
}

/** Tells of enabled records and of each change, so that calls are answered from memory. Changes of other processes are known within a second. */
export class EnabledRecords<Name extends Switched> {
  readonly #deps: EnabledRecordsDeps<Name>;
  /** The ids that were told. */
  readonly #told = new Set<string>();
  /** Revisions of changes that were heard of while records are read, which may have been read before. One map for each reading. */
  readonly #meanwhile = new Set<Map<string, number>>();
  readonly #closed = new AbortController();
  #stopFollowing = () => {};

  constructor(deps: EnabledRecordsDeps<Name>) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    const { store, name, onFailure } = this.#deps;
    const stopHearing = store.onCommit((commit) => this.#heard(commit), [name]);
    const reading = { signal: this.#closed.signal, onFailure };
    const stopMissing = store.cluster?.onGap(() => void readWithRetry(() => this.#read(), reading));
    this.#stopFollowing = () => {
      stopHearing();
      stopMissing?.();
    };
    await this.#read();
  }

  close(): void {
    this.#closed.abort();
    this.#stopFollowing();
  }

  #heard({ changes }: Commit): void {
    for (const { collection, kind, record } of changes) {
      if (collection !== this.#deps.name) continue;
      for (const heard of this.#meanwhile) heard.set(record.id, record.revision);
      if (kind === 'deleted' || !record.enabled) this.#drop(record.id);
      else this.#put(record as RecordOf<Name>); // the collection has just been compared
    }
    this.#deps.settled();
  }

  async #read(): Promise<void> {
    const { store, name, settled } = this.#deps;
    const reader = store[name] as Reader<RecordOf<Name>>; // the collection of that name
    const heard = new Map<string, number>();
    this.#meanwhile.add(heard);
    try {
      const gone = new Set(this.#told);
      const records = await allOf(reader, { where: { enabled: true } });
      if (this.#closed.signal.aborted) return;
      for (const record of records) {
        gone.delete(record.id);
        if ((heard.get(record.id) ?? -1) < record.revision) this.#put(record);
      }
      for (const id of gone) if (!heard.has(id)) this.#drop(id);
    } finally {
      this.#meanwhile.delete(heard);
    }
    settled();
  }

  #put(record: RecordOf<Name>): void {
    this.#told.add(record.id);
    this.#deps.put(record);
  }

  #drop(id: string): void {
    this.#told.delete(id);
    this.#deps.drop(id);
  }
}

/** How long until the store is asked again where it refused. */
const AGAIN_MS = 2000;

interface ReadOptions {
  /** Ends the attempts. */
  readonly signal: AbortSignal;
  onFailure(cause: unknown): void;
}

/** Reads again what changed unheard, until the store answers. Each failure is told. */
export async function readWithRetry(read: () => Promise<unknown>, { signal, onFailure }: ReadOptions): Promise<void> {
  while (!signal.aborted) {
    try {
      await read();
      return;
    } catch (cause) {
      onFailure(cause);
      await setTimeout(AGAIN_MS, undefined, { signal, ref: false }).catch(() => {}); // ended
    }
  }
}
