import type { RowType } from '../../../resources/imported-rows.ts';
import type { LoggedRow, RowLog } from '../../../store/port.ts';
import { ImportedModel, type TypedRow, USER_PURGE, type UserPurge } from './imported-model.ts';
import { type Settling, settleAll, Turn } from './settling.ts';

declare module '../../registry/context.ts' {
  interface ServerFacts {
    /** What was imported, as it can be asked for. */
    readonly imported: Pick<ImportedData, 'current' | 'ask' | 'rowsAt' | 'upkeep' | 'expectPurge'>;
  }
}

const STEP = 2000;
/** Rows that are read between two looks at the clock. */
const STRIDE = 32;
/**
 * When replaced rows are dropped: at once after the purge of a user. Otherwise when there are at least this many and more than other rows,
 * or when the first was replaced long enough ago.
 */
const MANY = 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
const PURGE_MS = 1000;
const RETRY_MS = 10 * 60 * 1000;

/** A model, and the position up to which the log was read into it. */
interface Fold {
  readonly model: ImportedModel;
  position: number;
}

const emptyFold = (): Fold => ({ model: new ImportedModel(), position: 0 });

/** The model of a store. It reads the row log and keeps up with it. */
export class ImportedData {
  readonly #log: RowLog;
  readonly #now: () => Date;
  #fold = emptyFold();
  /** Rows that were dropped from the log but still use memory in the model. */
  #left = 0;
  #last: Promise<unknown> = Promise.resolve();
  #tidying: Promise<void> | undefined;
  #notBefore = 0;

  constructor(log: RowLog, now = () => new Date()) {
    this.#log = log;
    this.#now = now;
  }

  /** The model with every row that was imported before the call. */
  current(): Promise<ImportedModel> {
    return this.ask(
      () => [],
      (model) => model,
    );
  }

  /** Calls `answer` with a model in which these parts are up to date. No row is added in between. */
  ask<Answer>(
    parts: (model: ImportedModel) => Iterable<Settling>,
    answer: (model: ImportedModel) => Answer,
  ): Promise<Answer> {
    const asked = this.#last.then(async () => {
      await this.#catchUp(this.#fold);
      const { model } = this.#fold;
      await settleAll(parts(model));
      return answer(model);
    });
    this.#last = asked.catch(() => {});
    return asked;
  }

  /** The complete rows at these positions of the log. */
  rowsAt(positions: readonly number[]): Promise<readonly LoggedRow[]> {
    return this.#log.get(positions);
  }

  /** A purge of a user is under way. The user's rows are dropped when the purge is in the log. */
  expectPurge(): void {
    setTimeout(() => this.upkeep().catch(() => {}), PURGE_MS).unref();
  }

  /** Reads new rows, and drops replaced rows from the log when it is time. */
  async upkeep(): Promise<void> {
    await this.current();
    await this.#tidy();
  }

  /** A failure shows in the status of the store and is tried again. */
  #tidy(): Promise<void> {
    if (!this.#tidying && this.#isTimeToTidy()) {
      this.#tidying = this.#drop()
        .then(() => this.#foldAnew())
        .catch(() => {})
        .finally(() => {
          this.#tidying = undefined;
        });
    }
    return this.#tidying ?? Promise.resolve();
  }

  async #catchUp(fold: Fold): Promise<void> {
    const { model } = fold;
    const { events, visits } = model;
    for (;;) {
      const rows = await this.#log.read(fold.position, STEP);
      const turn = new Turn();
      for (const [at, logged] of rows.entries()) {
        // A purge finds what it removes through these indexes, so they must be up to date.
        if (logged.type === USER_PURGE) await settleAll([events.feed, visits.feed], turn);
        model.put(typed(logged), logged.position, logged.at);
        fold.position = logged.next;
        if (at % STRIDE === 0) await turn.goOn();
      }
      await settleAll([events.feed, visits.feed], turn);
      if (rows.length < STEP) break;
    }
    // Runs in the background; the log continues meanwhile.
    void this.#tidy();
  }

  #isTimeToTidy(): boolean {
    const { rows, superseded, supersededSince, isPurged } = this.#fold.model;
    const now = this.#now().getTime();
    if (supersededSince === undefined || now < this.#notBefore) return false;
    const count = superseded.length;
    return isPurged || (count >= MANY && count > rows - count) || now - Date.parse(supersededSince) >= DAY_MS;
  }

  async #drop(): Promise<void> {
    const { model } = this.#fold;
    const { superseded, supersededSince, isPurged } = model;
    Object.assign(model, { superseded: [], supersededSince: undefined, isPurged: false });
    try {
      await this.#log.drop(superseded);
      model.rows -= superseded.length;
      this.#left += superseded.length;
    } catch {
      model.superseded = [...superseded, ...model.superseded];
      model.supersededSince = supersededSince;
      model.isPurged ||= isPurged;
      this.#notBefore = this.#now().getTime() + RETRY_MS;
    }
  }

  /** Makes a new model of the remaining rows, once the dropped rows that still use memory outnumber them. */
  async #foldAnew(): Promise<void> {
    if (this.#left < MANY || this.#left <= this.#fold.model.rows) return;
    const fold = emptyFold();
    // The old model answers meanwhile.
    await this.#catchUp(fold);
    const changed = this.#last.then(async () => {
      await this.#catchUp(fold);
      // Results that were computed from the old model are not valid for the new one.
      fold.model.version += this.#fold.model.version;
      this.#fold = fold;
      this.#left = 0;
    });
    this.#last = changed.catch(() => {});
    await changed;
  }
}

function typed({ type, row }: LoggedRow): TypedRow | UserPurge {
  // `import_records` checked the row by the schema of its type. All other rows are purges.
  return { type: type as RowType | typeof USER_PURGE, row } as TypedRow | UserPurge;
}
