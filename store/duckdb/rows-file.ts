import { StoreDamaged, StoreUnavailable } from '../errors.ts';
import { closeRows, type OpenedRows, openFile, openRows, type RowsOptions } from './open-rows.ts';

/** The file of imported rows: opened at the first need, and again after an error from which the engine does not recover by itself. */
export class RowsFile {
  readonly #options: RowsOptions;
  readonly #onOpen: (opened: OpenedRows) => void;
  #opening: Promise<OpenedRows> | undefined;
  #isClosed = false;
  /** What was found damaged since the file was opened, or why it cannot be opened. */
  damage: StoreDamaged | undefined;

  constructor(options: RowsOptions, onOpen: (opened: OpenedRows) => void) {
    this.#options = options;
    this.#onOpen = onOpen;
  }

  get(): Promise<OpenedRows> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the store is closed'));
    this.#opening ??= this.#begin(Promise.resolve());
    return this.#opening;
  }

  /** Runs the work, which may call others. @throws StoreUnavailable if the engine has failed, which is opened again then */
  async use<Result>(work: (opened: OpenedRows) => Promise<Result>): Promise<Result> {
    const opened = await this.get();
    try {
      return await work(opened);
    } catch (cause) {
      this.note(cause);
      if (!isFatal(cause)) throw cause;
      this.reopen(opened);
      throw new StoreUnavailable('the engine of imported rows failed and is opened again', { cause });
    }
  }

  /** Opens the file again, once nobody uses the engine that has failed. */
  reopen(failed: OpenedRows): void {
    if (failed.hasFailed || this.#isClosed) return;
    failed.hasFailed = true;
    this.#opening = this.#begin(failed.writing.then(() => closeRows(failed)).catch(() => {}));
  }

  /** Uses the file with this number from now on. */
  async replaceBy(file: number): Promise<void> {
    this.#opening = openFile(this.#options, file);
    await this.#opening;
  }

  /** Closes the file, and opens none any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opening?.catch(() => undefined);
    if (opened) await closeRows(opened);
  }

  /** Keeps in mind what an error says about damage. */
  note(error: unknown): void {
    if (error instanceof StoreDamaged) this.damage = error;
    else if (error instanceof Error) this.note(error.cause);
  }

  #begin(before: Promise<void>): Promise<OpenedRows> {
    const opening = before.then(async () => {
      const opened = await openRows(this.#options);
      this.#onOpen(opened);
      return opened;
    });
    opening.catch((error) => {
      this.note(error);
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }
}

/** Nothing works any more with this engine. */
export function isFatal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /FATAL|invalidated/i.test(error.message) || isFatal(error.cause);
}
