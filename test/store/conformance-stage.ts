import type { Store, Writers } from '../../store/port.ts';
import { fc } from '../support/property.ts';
import { writing } from '../support/writing.ts';

export interface OpenedStore {
  readonly store: Store;
  reopen(): Promise<Store>;
  dispose(): Promise<void>;
}

export class Stage {
  readonly #open: () => Promise<OpenedStore>;
  #opened: OpenedStore | undefined;
  #store: Store | undefined;

  constructor(open: () => Promise<OpenedStore>) {
    this.#open = open;
  }

  get store(): Store {
    if (!this.#store) throw new Error('no store is open');
    return this.#store;
  }

  /** Its collections, each call in a transaction of its own. */
  get write(): Writers {
    return writing(this.store);
  }

  async fresh(): Promise<void> {
    await this.dispose();
    this.#opened = await this.#open();
    this.#store = this.#opened.store;
  }

  async reopen(): Promise<void> {
    this.#store = await this.#opened?.reopen();
  }

  async dispose(): Promise<void> {
    await this.#opened?.dispose();
    this.#opened = undefined;
  }
}

/** Few enough that records share times. */
export const seconds = fc.integer({ min: 0, max: 12 });

export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
