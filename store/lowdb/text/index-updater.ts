import { setImmediate } from 'node:timers/promises';
import type { Row } from '../../row.ts';
import type { TextIndex } from './text-index.ts';

/** The longest time that indexing takes at once, while others wait. */
const STRETCH_MS = 5;

/**
 * Keeps the index of words up to date. Indexing the words of thousands of records at once would hold up all callers, so changes beyond a
 * time limit follow in small parts. Only searches wait for them.
 */
export class IndexUpdater {
  readonly #index: TextIndex;
  /** Changes that are not indexed yet, oldest first, from `#taken` on. */
  #waiting: { readonly before: Row | undefined; readonly after: Row | undefined }[] = [];
  #taken = 0;
  /** The number of changes since the start that had to wait and are indexed. */
  #everTaken = 0;
  #isBehind = false;
  #isClosed = false;
  #spentMs = 0;

  constructor(index: TextIndex) {
    this.#index = index;
  }

  replace(before: Row | undefined, after: Row | undefined): void {
    if (!this.#isBehind && this.#spentMs < STRETCH_MS) {
      if (this.#spentMs === 0) void setImmediate().then(() => this.#beginStretch());
      this.#takeIn(before, after);
      return;
    }
    this.#waiting.push({ before, after });
    if (!this.#isBehind) void this.#follow();
    this.#isBehind = true;
  }

  /** The index with every change in it. */
  current(): TextIndex {
    while (this.#takeNext());
    return this.#index;
  }

  /** Resolves when the changes that wait now are indexed, so that `current` has little left to do. */
  async caughtUp(): Promise<void> {
    const end = this.#everTaken + this.#waiting.length - this.#taken;
    while (this.#everTaken < end && !this.#isClosed) await setImmediate();
  }

  close(): void {
    this.#isClosed = true;
  }

  async #follow(): Promise<void> {
    do {
      await setImmediate();
      this.#beginStretch();
      while (this.#spentMs < STRETCH_MS && this.#takeNext());
    } while (this.#taken < this.#waiting.length && !this.#isClosed);
    this.#waiting = [];
    this.#taken = 0;
    this.#isBehind = false;
    this.#beginStretch();
  }

  /** Indexes the next change. Returns false where none waits. */
  #takeNext(): boolean {
    const change = this.#waiting[this.#taken];
    if (!change) return false;
    this.#taken += 1;
    this.#everTaken += 1;
    this.#takeIn(change.before, change.after);
    return true;
  }

  #takeIn(before: Row | undefined, after: Row | undefined): void {
    const started = performance.now();
    this.#index.replace(before, after);
    this.#spentMs += performance.now() - started;
  }

  #beginStretch(): void {
    this.#spentMs = 0;
  }
}
