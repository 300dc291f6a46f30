import type { AuditEntry } from '../../resources/audit-entry.ts';
import { refusalOf } from '../disk-full.ts';
import type { Connection } from './connection.ts';
import { writeFact } from './schema.ts';

/** Audit entries are kept this long beside their rows, so that a folder copied in this time has them. */
const KEPT_MS = 60 * 60 * 1000;

interface WriteTurnOptions {
  readonly writer: Connection;
  readonly place: string;
  readonly version: number;
  readonly keepsUnconfirmed: boolean;
  readonly onCommit: () => void;
}

/** One transaction of the writer. Exactly one of `commit` and `discard` ends it; what comes later does nothing. */
export class WriteTurn {
  readonly version: number;
  readonly writer: Connection;
  readonly #options: WriteTurnOptions;
  readonly ended: Promise<void>;
  failure: unknown;
  #isOver = false;
  #end = () => {};

  private constructor(options: WriteTurnOptions) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.version = options.version;
    this.writer = options.writer;
    this.#options = options;
  }

  static async begin(options: WriteTurnOptions): Promise<WriteTurn> {
    const turn = new WriteTurn(options);
    await turn.#guarded(() => options.writer.run('begin transaction'));
    return turn;
  }

  /** Does a part of the write. If it fails, the whole write is discarded. */
  async work<Result>(part: (writer: Connection) => Promise<Result>): Promise<Result> {
    return this.#guarded(() => part(this.writer));
  }

  /** The entries are kept beside the rows until the audit log has them for certain. */
  async commit(entries: readonly AuditEntry[] = []): Promise<void> {
    if (this.#isOver) throw new Error('the write is over');
    await this.#guarded(async () => {
      const now = Date.now();
      if (!this.#options.keepsUnconfirmed) {
        await this.writer.run('delete from unconfirmed where at_ms < $1', [now - KEPT_MS]);
      }
      for (const entry of entries) {
        const parameters = [entry.id, now, JSON.stringify(entry)];
        await this.writer.run('insert into unconfirmed values ($1, $2, $3)', parameters);
      }
      await writeFact(this.writer, 'version', String(this.version));
      await this.writer.run('commit');
    });
    this.#isOver = true;
    this.#options.onCommit();
    this.#end();
  }

  async discard(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.writer.run('rollback').catch((error) => {
      this.failure = error;
    });
    this.#end();
  }

  async #guarded<Result>(part: () => Promise<Result>): Promise<Result> {
    try {
      return await part();
    } catch (cause) {
      this.#isOver = true;
      await this.writer.run('rollback').catch(() => {});
      this.failure = cause;
      this.#end();
      throw refusalOf(cause, this.#options.place, 'the rows could not be written to the disk');
    }
  }
}
